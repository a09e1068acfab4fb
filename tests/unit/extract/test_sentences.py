"""Counters and values in sentences, meters, arrows, bars and couples; and what looks like them and is none."""

# ruff: noqa: E501  # a line of a log is as long as it is

from __future__ import annotations

import pytest

from stream_jobs.extract import numbers
from tests.unit.extract.helpers import triples

# (what is shown, text, points as line, name, value, step, epoch)
READ: list[tuple[str, str, list[tuple[object, ...]]]] = [
    (
        "no number behind a unit",
        "Step 4 | Speed (items/sec) nan | Loss 0.5",
        [(1, "Speed (items/sec)", "NaN", 4, None), (1, "Loss", 0.5, 4, None)],
    ),
    ("unit of a size before a name", "GPU 14.25 GB loss 0.5", [(1, "loss", 0.5, None, None)]),
    ("meter before a bar", "train | acc 0.5 (0.75): 100%|███| 5/5 [00:01<00:00, 5.0it/s]", [(1, "acc", 0.5, 5, None)]),
    ("counter first, no comma", "After 3 epochs the acc is 0.25", [(1, "acc", 0.25, None, 3)]),
    (
        "last pair before a bar",
        "loss 0.5 | acc 0.75: 100%|███| 8/8 [00:01<00:00, 8.0it/s]",
        [(1, "loss", 0.5, 8, None), (1, "acc", 0.75, 8, None)],
    ),
    ("counters cut short", "step:49K smpl:2M ep:5K epch:12.50 loss:0.5", [(1, "loss", 0.5, 49000, 12.5)]),
    (
        "episodes beside epochs",
        "step:800 smpl:100 ep:5 epch:0.25 loss:0.5 upd_s:0.125",
        [(1, "loss", 0.5, 800, 0.25), (1, "upd_s", 0.125, 800, 0.25)],
    ),
    ("link before the sign", "loss is: 0.5, acc is: 0.25", [(1, "loss", 0.5, None, None), (1, "acc", 0.25, None, None)]),
    ("article", "the loss is 0.5", [(1, "loss", 0.5, None, None)]),
    ("counter inside", "Score at iteration 100 is 1.5", [(1, "Score", 1.5, 100, None)]),
    ("counter first", "After 7 training step(s), loss on training batch is 0.5.", [(1, "loss on training batch", 0.5, 7, None)]),
    ("epochs first", "After 7 epochs, val acc: 0.5", [(1, "val acc", 0.5, None, 7)]),
    (
        "a value, though the name ends as a counter",
        "Average inner loss after inner updates : 2.5",
        [(1, "Average inner loss after inner updates", 2.5, None, None)],
    ),
    (
        "arrows",
        "Step 5 out of 90 | Loss --> 0.5 | Grad_x => 2.5 | lr -> 0.1",
        [(1, "Loss", 0.5, 5, None), (1, "Grad_x", 2.5, 5, None), (1, "lr", 0.1, 5, None)],
    ),
    ("bars in a name", "Epoch 4 - |g|=2.5e+00 loss=0.5", [(1, "|g|", 2.5, None, 4), (1, "loss", 0.5, None, 4)]),
    ("meters", "Test: [70/90] Fetch 0.25 (0.5) Work 0.75 (1.5).", [(1, "Fetch", 0.25, 70, None), (1, "Work", 0.75, 70, None)]),
    (
        "parts of a loss",
        "loss=1.75 (value=0.25, policy=1.5) | took 9.5s",
        [(1, "loss", 1.75, None, None), (1, "value", 0.25, None, None), (1, "policy", 1.5, None, None)],
    ),
    (
        "couples",
        "test : OrderedDict([('loss', 0.5), ('hit@5', np.float64(0.25))])",
        [(1, "loss", 0.5, None, None), (1, "hit@5", 0.25, None, None)],
    ),
    ("a lone score", "FB1: 94.5", [(1, "FB1", 94.5, None, None)]),
    (
        "a mean is measured",
        "step 3 loss: 0.5\nMean episode length: 22.5",
        [(1, "loss", 0.5, 3, None), (2, "Mean episode length", 22.5, 3, None)],
    ),
    ("what is below a split is measured", "train/rew_height: 0.5", [(1, "train/rew_height", 0.5, None, None)]),
    ("early stop below a header", "Epoch 9/10\nEpoch 00008: early stopping\n31s - loss: 0.5", [(3, "loss", 0.5, None, 9)]),
]

NONE = {
    "source position of a C++ log": "2020-01-02 08:08:00.322544: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1511] Adding visible gpu devices: 0",
    "source position without a time": "I tensorflow/core/common_runtime/gpu/gpu_device.cc:885] Found device 0 with properties:",
    "what points elsewhere": "Done, which is 0.5 better, and that was 0.25",
    "sizes of splits": "{'train': 40000, 'test': 12000}",
    "settings after dashes": "Embedding Size: 300 - Epochs: 100 - LR: 0.0001 - Distance Threshold: 1.0",
    "how many epochs there will be": "Epochs: 100",
    "settings in an object": '{"epochs": 100, "lr": 0.5}',
    "what a loss was": "(prev: 0.75)",
    "a change": "Reducing lr 0.5 => 0.25",
    "size of a batch below a split": "train/batch_size: 32",
    "settings in couples": "args: [('lr', 0.5), ('momentum', 0.9)]",
    "memory": "GPU Memory: 0.25 GB (Max: 14.25 GB)",
    "how many in how long": "Overall training speed: 300 iterations in 0:06:15 (1.25 s / it)",
    "from nothing": "(inf --> 0.572440). Saving model ...",
}


@pytest.mark.parametrize(("text", "points"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_points(text: str, points: list[tuple[object, ...]]) -> None:
    assert triples(text) == points


@pytest.mark.parametrize("text", NONE.values(), ids=NONE.keys())
@pytest.mark.parametrize("before", ["", "step 3 loss: 0.5\n"], ids=["at first", "in training"])
def test_none(text: str, before: str) -> None:
    """No point, and the line below is where it was."""
    behind = (3, None) if before else (None, None)
    points = triples(f"{before}{text}\nacc: 0.75")
    assert points[int(bool(before)) :] == [(2 + bool(before), "acc", 0.75, *behind)]


@pytest.mark.parametrize(
    "text",
    [
        "After 3 epochs, stopping",
        "  0/499  9.5G  0.5  0.25  640: 100% 15/15 [00:12<00:00,  1.25it/s]",
        "No improvement after 3 epochs, stopping",
        "2020-01-02 08:08:00.322544: I a/gpu_device.cc:1178] 0:   N",
    ],
)
def test_a_lone_counter_counts_nothing(text: str) -> None:
    assert triples(f"step 5, loss: 0.5\n{text}\nacc: 0.25")[1:] == [(3, "acc", 0.25, 5, None)]


@pytest.mark.parametrize(
    ("text", "value"), [("49K", 49_000), ("1.5M", 1_500_000), ("2B", 2_000_000_000), ("1.2345K", None), ("K", None)]
)
def test_short_counters(text: str, value: int | None) -> None:
    assert numbers.integer(text) == value

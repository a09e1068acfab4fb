"""What lines say of the lines around them: tracebacks, dumps, contexts, CRI, bars, time stamps. Named faults: B41, B47, B59."""

# ruff: noqa: E501  # a line of a log is as long as it is

from __future__ import annotations

import datetime

import pytest

from schemas.framing import frame
from stream_jobs.extract import Options, State, extract
from stream_jobs.extract.bars import progress_of
from stream_jobs.extract.times import parse
from tests.unit.extract.helpers import run, triples

TRACEBACK = (
    "Traceback (most recent call last):\n" + '  File "a.py", line 7, in f\n    loss = g(0.5)\n' * 14 + "ValueError: loss=0.5"
)


def test_b59_a_traceback_is_one_event_and_hides_no_metric() -> None:
    points, events = run(f"step 1 loss=0.5\n{TRACEBACK}\nstep 2 loss=0.25")
    assert (points.step, points.value) == ([1, 2], [0.5, 0.25])
    assert events.kind == ["exception"]
    assert events.message == ["ValueError: loss=0.5"]
    assert events.fields[0]["traceback"] == TRACEBACK
    assert events.step == [1]


def test_b59_a_traceback_without_its_end_hides_no_metric() -> None:
    points, events = run('Traceback (most recent call last):\n  File "a.py", line 7, in f\nstep 2 loss=0.25')
    assert points.value == [0.25]
    assert events.kind == ["exception"]


def test_b59_out_of_memory_in_a_traceback() -> None:
    _, events = run(
        'Traceback (most recent call last):\n  File "a.py", line 7\ntorch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB'
    )
    assert events.kind == ["exception", "out_of_memory"]


def test_b59_parts_of_a_container_line() -> None:
    names = ",".join(f'"m{i}_loss": {i}.5' for i in range(3000))
    record = '{"step": 3, ' + names + "}"
    cut = [record[:16000], record[16000:32000], record[32000:]]
    time = "2024-04-19T19:00:29.117000000Z"
    data = (
        f"{time} stdout P {cut[0]}\n{time} stderr F warn 1\n{time} stdout P {cut[1]}\n{time} stderr F warn 2\n{time} stdout F {cut[2]}\n"
        f"{time} stdout F step 4 loss=0.5\n"
    )
    lines = frame(data.encode(), 0, "cri")
    _, points, events = extract(State(), lines, Options(container="cri"))
    assert points.value == [i + 0.5 for i in range(1000)] + [0.5]
    assert points.step == [3] * 1000 + [4]
    assert [(kind, fields) for kind, fields in zip(events.kind, events.fields, strict=True)] == [
        ("too_many_points", {"points": "3000"})
    ]


def test_b41_redraws_are_no_rows_and_the_record_behind_them_is_read_once() -> None:
    redraws = "\r".join(f" {i}%|{'#' * (i // 10)}   | {i}/100 [00:0{i % 10}<00:01, 1.00it/s, loss=0.{i:03}]" for i in range(101))
    assert [point[:3] for point in triples(redraws + "\r{'loss': 0.125, 'epoch': 1.0}\n")] == [(1, "loss", 0.125)]
    assert progress_of(redraws.split("\r")[37]) == (37, 100)


@pytest.mark.parametrize(
    ("text", "progress"),
    [
        (" 37%|███▋      | 37/100 [00:10<00:17,  3.6it/s]", (37, 100)),
        ("100% 8/8 [00:09<00:00,  1.17s/it]", (8, 8)),
        ("10/200 [=>......] - ETA: 12s - loss: 0.5", (10, 200)),
        ("Epoch 0/9 ━━━━━━ 5/18 0:00:01 • 0:00:02 9.5it/s", (5, 18)),
        ("loss 3/4", None),
        ("date 2024/05/06 [x]", None),
        ("", None),
    ],
)
def test_progress_of_an_open_line(text: str, progress: tuple[int, int] | None) -> None:
    assert progress_of(text) == progress


def moment(*parts: int) -> int:
    return int(datetime.datetime(*parts, tzinfo=datetime.UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]  # year to second


STAMPS = [
    ("2025-10-07T08:08:59Z", moment(2025, 10, 7, 8, 8, 59)),
    ("2025-10-07 08:08:59", moment(2025, 10, 7, 8, 8, 59)),  # no zone: UTC, as documented
    ("2025-10-07T08:08:59.123456789Z", moment(2025, 10, 7, 8, 8, 59) + 123),
    ("2025-10-07 08:08:59,5", moment(2025, 10, 7, 8, 8, 59) + 500),
    ("2025-10-07T08:08:59+05:30", moment(2025, 10, 7, 2, 38, 59)),
    ("2025-10-07T08:08:59-0800", moment(2025, 10, 7, 16, 8, 59)),
    ("2025/10/07 08:08:59", moment(2025, 10, 7, 8, 8, 59)),
    ("10/07/2025 08:08:59", moment(2025, 10, 7, 8, 8, 59)),  # month first
    ("31/10/2025 08:08:59", moment(2025, 10, 31, 8, 8, 59)),  # but there is no month 31
    ("Tue Oct  7 08:08:59 2025", moment(2025, 10, 7, 8, 8, 59)),
    ("1759824539", moment(2025, 10, 7, 8, 8, 59)),
    ("1759824539.250", moment(2025, 10, 7, 8, 8, 59) + 250),
    ("1759824539123", moment(2025, 10, 7, 8, 8, 59) + 123),
    ("1759824539123456789", moment(2025, 10, 7, 8, 8, 59) + 123),
    ("2525-10-07 08:08:59", None),
    ("0001-01-01 00:00:00", None),
    ("1970-01-01 00:00:00", None),
    ("2025-13-07 08:08:59", None),
    ("2025-02-31 08:08:59", None),
    ("2025-10-07 25:08:59", None),
    ("08:08:59", None),  # no date
    ("10/07 08:08:59", None),  # no year
]


@pytest.mark.parametrize(("text", "expected"), STAMPS)
def test_b47_stamps(text: str, expected: int | None) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "expected"), [stamp for stamp in STAMPS if "Tue" not in stamp[0]])
@pytest.mark.parametrize(
    "form", ["{} INFO step 3 loss=0.5", "[{}] step 3 loss=0.5", "{} - INFO - step 3 loss=0.5", "{}: step 3 loss=0.5"]
)
def test_b47_stamps_before_lines(form: str, text: str, expected: int | None) -> None:
    points, _ = run(form.format(text))
    assert (points.value, points.step, points.time) == ([0.5], [3], [expected])


def test_b47_no_stamp_is_no_time() -> None:
    points, _ = run("step 3 loss=0.5")
    assert points.time == [None]


def test_b47_the_task_may_name_a_zone() -> None:
    points, _ = run("2025-10-07 08:08:59 step 3 loss=0.5\n2025-10-07 08:08:59Z step 3 loss=0.5", Options(zone_minutes=120))
    assert points.time == [moment(2025, 10, 7, 6, 8, 59), moment(2025, 10, 7, 8, 8, 59)]


def test_epochs_and_steps_are_taken_from_the_lines_above() -> None:
    text = "epoch 1:\nloss=0.5\nIteration 10, lr = 0.1\nTest loss: 0.25\nEpoch 2/3\nval_loss: 0.125"
    assert [(name, step, epoch) for _, name, _, step, epoch in triples(text)] == [
        ("loss", None, 1),
        ("lr", 10, 1),
        ("Test loss", 10, 1),
        ("val_loss", None, 2),
    ]


def test_ranks_do_not_mix() -> None:
    text = "[rank0]: step 3\n[rank1]: step 4\n[rank0]: loss=0.5\n[rank1]: loss=0.25"
    assert [(step, value) for _, _, value, step, _ in triples(text)] == [(3, 0.5), (4, 0.25)]


EVENTS = {
    "***** Running training *****": "started",
    "Training started": "started",
    "Saving model checkpoint to out/checkpoint-500": "checkpoint",
    "05/15 - Saving checkpoint at 3 epochs": "checkpoint",
    "Resuming from checkpoint out/checkpoint-500": "resumed",
    "Early stopping triggered after 5 epochs": "early_stop",
    "Training finished": "finished",
    "done training in 31.6 seconds": "finished",
    "torch.cuda.OutOfMemoryError: CUDA out of memory.": "out_of_memory",
    "[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)": "nccl_timeout",
    "/opt/a/b.py:42: UserWarning: slow loader": "warning",
    "***** Running Evaluation *****": "evaluation",
    "Epoch 3/10": "epoch",
}


@pytest.mark.parametrize(("text", "kind"), EVENTS.items())
def test_events(text: str, kind: str) -> None:
    _, events = run(text)
    assert [k for k in events.kind if k != "progress"] == [kind]
    assert text in events.message


def test_a_warning_that_repeats_is_told_once() -> None:
    _, events = run("a.py:1: UserWarning: slow 1\na.py:1: UserWarning: slow 2\na.py:1: UserWarning: other")
    assert [kind for kind in events.kind] == ["warning", "warning"]


def test_progress_moves_with_the_bar_of_the_task_only() -> None:
    bars = "\n".join(f" {i}%|##    | {i}/100 [00:01<00:01, 1.00it/s]" for i in (1, 1, 2))
    _, events = run(bars + "\nLoading shards: 100%|####| 7/7 [00:01<00:00, 5it/s]")
    assert [fields["done"] for fields in events.fields] == ["1", "2"]
    _, events = run("Epoch 1/4\n5/5 [====] - 1s - loss: 0.5\nEpoch 2/4\n5/5 [====] - 1s - loss: 0.5")
    told = [(f["done"], f["total"], f["unit"]) for k, f in zip(events.kind, events.fields, strict=True) if k == "progress"]
    assert told == [("1", "4", "epoch"), ("2", "4", "epoch")]


def test_a_list_of_objects_over_several_lines_is_read_object_by_object() -> None:
    text = """[
    {
        "main/loss": 0.5,
        "epoch": 1,
        "iteration": 100,
        "validation/main/accuracy": 0.75
    },
    {
        "main/loss": 0.25,
        "iteration": 200
    }
]
{
    "main/loss": 0.125
}"""
    assert triples(text) == [
        (3, "main/loss", 0.5, None, None),
        (6, "validation/main/accuracy", 0.75, 100, 1),
        (9, "main/loss", 0.25, None, None),  # its step stands below it: absent, not that of the object before
    ]


def test_a_list_in_a_printed_configuration_opens_nothing() -> None:
    text = """{
  "betas": [
    [
      0.5
    ]
  ],
  "val_loss": 0.5
}
step 20 loss: 0.25"""
    assert triples(text) == [(9, "loss", 0.25, 20, None)]


def test_the_log_of_a_printed_state_is_read() -> None:
    text = """{
  "best_metric": 0.5,
  "log_history": [
    {
      "epoch": 0.5,
      "learning_rate": 0.125,
      "loss": 1.5,
      "step": 10
    }
  ],
  "train_loss": 0.75
}
step 20 loss: 0.25"""
    assert triples(text) == [
        (6, "learning_rate", 0.125, None, 0.5),
        (7, "loss", 1.5, None, 0.5),
        (11, "train_loss", 0.75, 10, 0.5),
        (13, "loss", 0.25, 20, 0.5),
    ]

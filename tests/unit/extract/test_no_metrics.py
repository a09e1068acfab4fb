"""What is no metric gives no point: each kind, before training and in the middle of it."""

from __future__ import annotations

import pytest

from tests.unit.extract.helpers import run, triples

KINDS = {
    "address": "Listening on 10.0.0.1:29500",
    "address of a host": "master: node7.cluster.local:29500",
    "version": "python: 3.11.7, torch: 2.1.0+cu121",
    "date": "started: 2024-01-02 03:04:05",
    "clock": "eta: 0:54:58",
    "duration": "real    34m39.034s",
    "duration in words": "time=10 minutes and 3 seconds",
    "size": "memory: 47.12GiB(49.61%), model: 14.8MB",
    "memory": "GPU Memory before entering the train : 1916",
    "line number": '  File "train.py", line 299, in <module>',
    "source position": "/opt/a/b.py:42: UserWarning: slow loader",
    "hash": "commit: 4f2a1b9c",
    "hexadecimal": "loss at 0x7f8ffd427490",
    "parameters": "#trainable params: 219,188,480",
    "parameter count": "54.7 M    Trainable params",
    "sizes of splits": "Train: 50000, Val: 10000, Test: 10000",
    "counts": "Num examples = 23",
    "settings": "Config: alpha=0.000100, betas=(0.900000, 0.980000), weight_decay=0.000000",
    "command": "train.py --lr 0.001 --dropout 0.1 -epoch 25",
    "call": "Namespace(lr=0.1, epochs=10, momentum=0.9)",
    "widget": "HBox(children=(FloatProgress(value=0.0, description='Epoch', max=1.0))",
    "ids": "Updated tokens: {'eos_token_id': 128009, 'pad_token_id': 128009}",
    "intervals": '{"learning_rate": 0.1, "eval_steps": 500, "batch_size": 8}',
    "weights of losses": "loss_weight=0.5, kl_coef=0.25",
    "sizes of splits in a dict": "{'train': 1444, 'val': 413}",
    "memory behind a name": "GPU: 0.33 GB (Max: 14.24 GB), val mem 3.5 GiB",
    "how many, where how fast stands": "Overall training speed: 298 iterations in 0:06:13",
    "source position of TensorFlow": "2019-02-18 08:08:00.322544: I tensorflow/core/gpu_device.cc:1511] Adding devices: 0",
    "memory in one word": "tick 3  cpumem 5.5  gpumem 1.5",
    "search space": "Trial with parameters: {'lr': 0.01, 'layers': 3}",
    "best so far": "Best accuracy so far: 0.93",
    "best so far, named": "best_acc: 0.93",
    "best so far, improved": "Epoch 00001: val_loss improved from 0.9 to 0.5, saving model",
    "checkpoint": "Saved model_step=9-val_loss=0.25.ckpt",
    "scaler": "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "a change": "lr: 0.1 -> 0.01",
    "a change without a sign": "learning rate 0.1 -> 0.01",
    "duration of several numbers": "time:35 minutes 37 seconds, elapsed: 1h 19m",
    "best so far, as a heading": "best metric, acc: 0.5, fps: 31.5, best_epoch: 1",
    "how much was seen": "Iter 3: Trained Tokens 3290, img_size=640",
    "where a booster begins": "[Info] [binary:BoostFromScore]: pavg=0.605528 -> initscore=0.428551",
    "speed of a bar": " 18%|████      | 112/621 [10:02<44:51,  5.29s/it]",
    "inference": "0: 64x64 rhinoceros 0.34, hippopotamus 0.33, 8.4ms",
    "finished": "done training in 31.6 seconds",
    "how long it took": "'train' took 1.262920 s",
    "size of a split": "Binning 0.012 GB of validation data: 0.003 s",
    "switches of a build": "Build settings: PERF_WITH_AVX=1, PERF_WITH_AVX2=1",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("before", ["", "epoch 3 loss: 0.5\n"], ids=["at first", "in training"])
def test_no_point(text: str, before: str) -> None:
    assert [point for point in triples(before + text) if point[0] == before.count("\n") + 1] == []


def test_a_printed_model_is_none() -> None:
    text = "AdamW (\n    eps: 1e-08\n    lr: 0.001\n    momentum: 0.9\n)\nstep 1 loss: 0.5"
    assert triples(text) == [(6, "loss", 0.5, 1, None)]


@pytest.mark.parametrize(
    "text",
    [
        "Learning rate: 0.001",
        '{"lr": 0.1, "batch_size": 32, "model": "x"}',
        "lr=0.001 wd=0.0005",
        "config: lr=0.0003 batch=256 warmup=100",
    ],
)
def test_a_learning_rate_before_training_is_a_setting(text: str) -> None:
    assert triples(text) == []


def test_a_learning_rate_in_training_is_a_metric() -> None:
    assert triples("step 1 loss=0.5\nlr: 0.05")[1:] == [(2, "lr", 0.05, 1, None)]


@pytest.mark.parametrize("text", ["[1,2]", "[1,  2000]", "[10]", "[3, 4], [5, 6]"])
def test_a_list_alone_counts_nothing(text: str) -> None:
    points, events = run(f"{text}\nloss: 0.5")
    assert (events.kind, points.step, points.epoch) == ([], [None], [None])
    assert triples("[1,  2000] loss: 0.5") == [(1, "loss", 0.5, 2000, 1)]

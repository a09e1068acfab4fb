"""A believable training run, as rows: two ranks, a crash at step 420, a second attempt from step 380 on."""

from __future__ import annotations

import math
import random

from tests.integration.gateway_support import Seeded
from tests.seed import LogFile, now_ms

STEPS = 1000
PARAMETERS = {
    "model": "resnet18",
    "optimizer": "adamw",
    "lr": "0.003",
    "batch": "256",
    "epochs": "10",
    "seed": "7",
    "amp": "bf16",
}


def training(
    seeded: Seeded, task: str, *, until: int = 700, name: str = "ResNet-18 on digits", seconds: float = 0.9
) -> list[LogFile]:
    """Store the run up to a step of its second attempt; returns the files of the second attempt, to go on with."""
    end = now_ms()
    began = end - int((until + 40 + 60) * seconds * 1000)
    for rank in (0, 1):
        file = _file(seeded, task, 1, rank, name)
        at = began
        _begin(file, at)
        for step in range(420):
            at = began + int(step * seconds * 1000)
            _step(file, step, at)
        file.arrived = at + 400
        file.text("Traceback (most recent call last):", at=at)
        file.text('  File "train.py", line 88, in <module>', at=at)
        file.text("    loss.backward()", at=at)
        file.text("RuntimeError: NCCL error: unhandled system error", at=at)
        file.event("status", {"status": "failed", "code": "1"}, "RuntimeError: NCCL error: unhandled system error", at=at)
        file.store()
        file.heartbeat(ended="end")
    files = []
    for rank in (0, 1):
        file = _file(seeded, task, 2, rank, name)
        restarted = began + int((420 + 60) * seconds * 1000)
        _begin(file, restarted)
        file.arrived = restarted + 160
        file.text("resuming from checkpoints/00379.pt", at=restarted)
        for step in range(380, until):
            _step(file, step, restarted + int((step - 380) * seconds * 1000))
        file.store()
        file.heartbeat()
        files.append(file)
    return files


def _file(seeded: Seeded, task: str, attempt: int, rank: int, name: str) -> LogFile:
    return seeded.file(
        task, f"{task}-{attempt}-{rank}", path=f"/logs/{task}.a{attempt}.r{rank}.log", attempt=attempt, rank=rank, world_size=2,
        start_id=f"start-{attempt}", name=name,
    )  # fmt: skip


def _begin(file: LogFile, at: int) -> None:
    file.arrived = at + 150
    file.event("header", {"owner": "vision", "project": "digits", "framework": "pytorch"}, at=at)
    file.event("params", PARAMETERS, at=at)
    file.event("status", {"status": "running"}, at=at)
    file.text(f"rank {file.rank} of 2 on node-{'ab'[file.rank]}, device cuda:0", at=at)


def _step(file: LogFile, step: int, at: int) -> None:
    chance = random.Random(step * 31 + file.rank * 7 + (file.attempt or 0))
    file.arrived = at + 150
    loss = 2.3 * math.exp(-step / 260) + 0.06 + chance.gauss(0, 0.035) * math.exp(-step / 900)
    accuracy = min(1 - 0.9 * math.exp(-step / 300) + chance.gauss(0, 0.012), 1)
    lost = step in (311, 312) and file.rank == 0
    values = {
        "train/loss": math.nan if lost else loss,
        "train/accuracy": accuracy,
        "train/grad_norm": math.inf if lost else chance.lognormvariate(0, 0.45),
        "lr": 0.003 * min(1, step / 60) * (0.5 + 0.5 * math.cos(math.pi * step / STEPS)),
        "system/gpu_memory_gb": 21.4 + chance.gauss(0, 0.05),
        "system/samples_per_second": 2840 + chance.gauss(0, 60) - (900 if step % 100 == 0 else 0),
    }
    file.log(values, step=step, at=at, epoch=step / 100)
    if step % 5 == 0:
        said = "nan" if lost else f"{loss:.4f}"
        file.text(
            f"[{step:>4}/{STEPS}] loss={said} acc={accuracy:.3f} {values['system/samples_per_second']:.0f} samples/s", at=at
        )
        file.event("progress", {"done": str(step + 1), "total": str(STEPS)}, at=at)
    if step % 20 == 19:
        file.log({"val/loss": loss + 0.05, "val/accuracy": accuracy - 0.02}, step=step, at=at)
    if step % 100 == 99 and file.rank == 0:
        file.event("checkpoint", {"path": f"checkpoints/{step:05}.pt"}, at=at, step=step)
        file.text(f"\x1b[32msaved\x1b[0m checkpoints/{step:05}.pt", at=at)

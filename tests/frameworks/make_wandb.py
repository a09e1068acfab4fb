"""Weights & Biases offline: the history and summary of a run."""

from __future__ import annotations

import os

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "false", "WANDB_ERROR_REPORTING": "false"}
    import wandb

    with recorded("wandb_offline", "wandb") as recording:
        run = wandb.init(project="digits", dir=".", settings=wandb.Settings(disable_git=True, x_disable_stats=True))
        for epoch, step, loss, accuracy, _ in training(10, 3):
            run.log({"train/loss": loss, "train/acc": accuracy, "epoch": epoch}, step=step)
            if step % 6 == 0:
                print(f"epoch {epoch}: train/loss {loss:.4f}, train/acc {accuracy:.4f}")
                recording.point("train/loss", loss, epoch=epoch, form=".4f", line=recording.at)
                recording.point("train/acc", accuracy, epoch=epoch, form=".4f", line=recording.at)
        run.finish()
        for name, value in (("train/loss", loss), ("train/acc", accuracy)):
            recording.point(name, value, form=".5f")


if __name__ == "__main__":
    main()

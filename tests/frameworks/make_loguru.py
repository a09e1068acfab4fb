"""loguru: coloured lines of a loop."""

from __future__ import annotations

import sys

from loguru import logger

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    with recorded("loop_loguru", "loguru") as recording:
        logger.remove()
        logger.add(sys.stderr, colorize=True)
        logger.info("digits: {} rows, {} classes, seed {}", 1797, 10, 3)
        for epoch, step, loss, accuracy, rate in training(3, 4):
            if step % 2 == 0:
                logger.info(
                    "epoch {}/{} | step {:>3d} | loss {:.4f} | acc {:.2%} | lr {:.2e}", epoch, 4, step, loss, accuracy, rate
                )
                line = recording.at
                recording.point("loss", loss, step=step, epoch=epoch, form=".4f", line=line)
                recording.point("acc", accuracy * 100, step=step, epoch=epoch, form=".2f", line=line)
                recording.point("lr", rate, step=step, epoch=epoch, form=".2e", line=line)
            if step % 6 == 0:
                logger.success("Saved checkpoint to {}", f"runs/epoch={epoch}-loss={loss:.3f}.npz")


if __name__ == "__main__":
    main()

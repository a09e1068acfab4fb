"""structlog: key=value lines of a loop."""

from __future__ import annotations

import structlog

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    with recorded("loop_structlog", "structlog") as recording:
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper("iso"),
                structlog.dev.ConsoleRenderer(colors=False),
            ]
        )
        logger = structlog.get_logger()
        logger.info("training started", epochs=3, batch_size=300, optimizer="sgd")
        for epoch, step, loss, accuracy, rate in training(4, 3):
            logger.info("train step", epoch=epoch, step=step, train_loss=loss, train_accuracy=accuracy, learning_rate=rate)
            for name, value in (("train_loss", loss), ("train_accuracy", accuracy), ("learning_rate", rate)):
                recording.point(name, value, step=step, epoch=epoch, line=recording.at)


if __name__ == "__main__":
    main()

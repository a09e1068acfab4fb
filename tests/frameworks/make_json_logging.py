"""python-json-logger: a loop's records as JSON, metrics nested."""

from __future__ import annotations

import logging
import sys

from pythonjsonlogger.json import JsonFormatter

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    with recorded("loop_json", "python-json-logger") as recording:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger = logging.getLogger("trainer")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.info("start", extra={"config": {"lr": 0.1, "layers": [64, 10]}, "seed": 5})
        for epoch, step, loss, accuracy, rate in training(5, 3):
            metrics = {"loss": loss, "accuracy": accuracy}
            logger.info("metrics", extra={"global_step": step, "epoch": epoch, "train": metrics, "lr": rate})
            for name, value in (("train/loss", loss), ("train/accuracy", accuracy), ("lr", rate)):
                recording.point(name, value, step=step, epoch=epoch, line=recording.at)


if __name__ == "__main__":
    main()

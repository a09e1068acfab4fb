"""The instrumented task: a small network learns scikit-learn's handwritten digits, and says so through the SDK.

The journal beside the log holds exactly what was given to the SDK: one JSON object a value.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import trainwire
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

EPOCHS = 30
BATCH = 128
PAUSE = 0.06  # seconds a step, so that there is something to watch: 330 steps take about 25 s


def main() -> None:
    pause = float(os.environ.get("DEMO_PAUSE", PAUSE))
    data, target = load_digits(return_X_y=True)
    x_train, x_valid, y_train, y_valid = train_test_split(data / 16.0, target, test_size=0.25, random_state=7)
    model = MLPClassifier(hidden_layer_sizes=(48,), learning_rate_init=0.004, random_state=7)
    classes = list(range(10))
    steps = -(-len(x_train) // BATCH)

    with trainwire.init(name="digits, a small network", project="demo") as run, Path(sys.argv[1]).open("w") as journal:
        run.params({"hidden": 48, "learning_rate": 0.004, "batch": BATCH, "epochs": EPOCHS})

        def log(values: dict[str, float], step: int, epoch: float) -> None:
            run.log(values, step=step, epoch=epoch)
            for name, value in values.items():
                journal.write(json.dumps({"name": name, "value": float(value), "step": step, "epoch": epoch}) + "\n")

        step = 0
        for epoch in range(EPOCHS):
            for first in range(0, len(x_train), BATCH):
                x, y = x_train[first : first + BATCH], y_train[first : first + BATCH]
                model.partial_fit(x, y, classes=classes)
                step += 1
                loss = log_loss(y, model.predict_proba(x), labels=classes)
                log({"train/loss": loss, "train/accuracy": model.score(x, y)}, step, round(step / steps, 4))
                run.progress(step, EPOCHS * steps)
                time.sleep(pause)
            valid = log_loss(y_valid, model.predict_proba(x_valid), labels=classes)
            log({"valid/loss": valid, "valid/accuracy": model.score(x_valid, y_valid)}, step, epoch + 1)


if __name__ == "__main__":
    main()

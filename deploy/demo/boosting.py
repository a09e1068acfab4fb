"""The task that knows nothing of us: LightGBM on scikit-learn's breast cancer data, as anyone would write it.

The journal is the framework's own record (`record_evaluation`), written when the training is over.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import lightgbm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

ROUNDS = 200
PAUSE = 0.12  # seconds a round, so that there is something to watch: about 25 s


def main() -> None:
    pause = float(os.environ.get("DEMO_PAUSE", PAUSE))
    data, target = load_breast_cancer(return_X_y=True)
    x_train, x_valid, y_train, y_valid = train_test_split(data, target, test_size=0.3, random_state=7)
    train = lightgbm.Dataset(x_train, y_train)
    valid = train.create_valid(x_valid, y_valid)
    parameters = {"objective": "binary", "metric": ["binary_logloss", "auc"], "learning_rate": 0.03, "num_leaves": 7, "seed": 7}
    record: dict[str, dict[str, list[float]]] = {}

    def rest(_: Any) -> None:
        time.sleep(pause)

    lightgbm.train(
        {**parameters, "num_threads": 1},
        train,
        num_boost_round=ROUNDS,
        valid_sets=[train, valid],
        valid_names=["training", "valid"],
        callbacks=[lightgbm.record_evaluation(record), lightgbm.log_evaluation(1), rest],
    )
    with Path(sys.argv[1]).open("w") as journal:
        for data_set, metrics in record.items():
            for metric, values in metrics.items():
                for i, value in enumerate(values):
                    # log_evaluation prints six significant digits (`:g`); the log can say no more than that
                    point = {"name": f"{data_set}'s {metric}", "value": float(f"{value:g}"), "step": i + 1, "epoch": None}
                    journal.write(json.dumps(point) + "\n")


if __name__ == "__main__":
    main()

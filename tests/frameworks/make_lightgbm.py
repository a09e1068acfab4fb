"""LightGBM: training with two sets, early stopping, cross-validation, the scikit-learn API, its logger in Python's logging."""

from __future__ import annotations

import logging
import sys

import lightgbm as lgb
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split

from tests.frameworks.recording import Recording, recorded


def points(recording: Recording, period: int = 1):
    """A callback that runs behind `log_evaluation`: what that has just printed, `:g`."""

    def told(env):
        step = env.iteration + 1
        if step % period == 0:
            for dataset, metric, value, *_ in env.evaluation_result_list:
                recording.point(f"{dataset}'s {metric}", value, step=step, form="g", line=recording.at)

    told.order = 15
    return told


def main() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    train = lgb.Dataset(x[:400], y[:400])
    valid = lgb.Dataset(x[400:], y[400:], reference=train)
    settings = {"objective": "binary", "metric": ["binary_logloss", "auc"], "num_leaves": 7, "seed": 5, "num_threads": 1}
    with recorded("lightgbm_train", "lightgbm") as recording:
        lgb.train(
            settings,
            train,
            30,
            valid_sets=[train, valid],
            valid_names=["train", "holdout"],
            callbacks=[lgb.log_evaluation(1), points(recording)],
        )

    with recorded("lightgbm_early_stop", "lightgbm", optional="sparse rate", why="of the data") as recording:
        x, y = load_diabetes(return_X_y=True)
        a, b, c, d = train_test_split(x, y, random_state=3)
        train = lgb.Dataset(a, c)
        found: dict = {}
        model = lgb.train(
            {"objective": "l2", "metric": ["l2", "l1"], "verbosity": 2, "learning_rate": 0.3, "seed": 8, "num_threads": 1},
            train,
            200,
            valid_sets=[lgb.Dataset(b, d, reference=train)],
            valid_names=["holdout"],
            callbacks=[lgb.log_evaluation(5), lgb.early_stopping(15), points(recording, 5), lgb.record_evaluation(found)],
        )
        best = model.best_iteration  # told once more at the end
        for metric, values in found["holdout"].items():
            recording.point(f"holdout's {metric}", values[best - 1], step=best, form="g", line=recording.at)

    with recorded("lightgbm_cv", "lightgbm") as recording:
        x, y = load_wine(return_X_y=True)
        lgb.cv(
            {"objective": "multiclass", "num_class": 3, "metric": "multi_logloss", "verbosity": -1, "seed": 1, "num_threads": 1},
            lgb.Dataset(x, y),
            20,
            nfold=4,
            eval_train_metric=True,
            callbacks=[lgb.log_evaluation(2), points(recording, 2)],
        )

    with recorded("lightgbm_sklearn", "lightgbm") as recording:
        logging.basicConfig(stream=sys.stdout, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s", force=True)
        logging.getLogger("trees").setLevel(logging.INFO)
        lgb.register_logger(logging.getLogger("trees"))
        x, y = load_digits(return_X_y=True)
        model = lgb.LGBMClassifier(n_estimators=12, num_leaves=5, random_state=2, n_jobs=1)
        sets = [(x[:900], y[:900]), (x[900:1300], y[900:1300])]
        model.fit(
            *sets[0],
            eval_set=sets,
            eval_metric="multi_error",
            callbacks=[lgb.log_evaluation(1, show_stdv=False), points(recording)],
        )


if __name__ == "__main__":
    main()

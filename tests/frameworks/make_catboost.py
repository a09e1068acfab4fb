"""CatBoost: learning alone, learning and test with a period and early stopping, a metric that only the test set has."""

from __future__ import annotations

from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from tests.frameworks.recording import Recording, recorded

QUIET = {"thread_count": 1, "allow_writing_files": False}


def points(recording: Recording, model, metric: str, names: dict[str, str], period: int = 1) -> None:
    """`get_evals_result`, in the ten-character form that CatBoost prints; every `period` iterations and the last."""
    for dataset, name in names.items():
        values = model.get_evals_result()[dataset][metric]
        for step, value in enumerate(values):
            if step % period == 0 or step == len(values) - 1:
                recording.point(name, value, step=step, form=".7f")


def main() -> None:
    with recorded("catboost_learn", "catboost") as recording:
        x, y = load_diabetes(return_X_y=True)
        model = CatBoostRegressor(iterations=40, depth=3, random_seed=6, **QUIET)
        model.fit(x, y)
        points(recording, model, "RMSE", {"learn": "learn"})

    with recorded("catboost_test", "catboost") as recording:
        x, y = load_breast_cancer(return_X_y=True)
        model = CatBoostClassifier(
            iterations=300, depth=4, learning_rate=0.2, metric_period=4, od_wait=20, random_seed=2, **QUIET
        )
        model.fit(x[:300], y[:300], eval_set=[(x[300:430], y[300:430]), (x[430:], y[430:])])
        # The last set serves the overfitting detector and is measured at each iteration, the others at every fourth.
        history = model.get_evals_result()
        for dataset, name in {"learn": "learn", "validation_0": "test"}.items():
            for place, value in enumerate(history[dataset]["Logloss"]):
                recording.point(name, value, step=place * 4, form=".7f")
        points(recording, model, "Logloss", {"validation_1": "test1"}, 4)

    with recorded("catboost_auc", "catboost") as recording:
        x, y = load_wine(return_X_y=True)
        model = CatBoostClassifier(iterations=50, depth=2, eval_metric="AUC", random_seed=1, **QUIET)
        model.fit(x[::2], y[::2] == 1, eval_set=(x[1::2], y[1::2] == 1), verbose=5)
        points(recording, model, "AUC", {"validation": "test"}, 5)


if __name__ == "__main__":
    main()

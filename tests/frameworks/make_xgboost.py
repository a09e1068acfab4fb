"""XGBoost: training with two sets, every fifth round with early stopping, cross-validation, the scikit-learn API."""

from __future__ import annotations

import xgboost as xgb
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from tests.frameworks.recording import Recording, recorded

PACKAGE = "xgboost-cpu"


def points(recording: Recording, results: dict, period: int = 1) -> None:
    """`evals_result`, in the five decimals of EvaluationMonitor; it prints every `period` rounds and the last."""
    for dataset, metrics in results.items():
        for metric, values in metrics.items():
            for step, value in enumerate(values):
                if step % period == 0 or step == len(values) - 1:
                    recording.point(f"{dataset}-{metric}", value, step=step, form=".5f")


def main() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    train, test = xgb.DMatrix(x[:350], y[:350]), xgb.DMatrix(x[350:], y[350:])
    settings = {
        "objective": "binary:logistic",
        "eval_metric": ["logloss", "auc", "error@0.4"],
        "max_depth": 2,
        "seed": 4,
        "nthread": 1,
    }
    with recorded("xgboost_train", "xgboost", PACKAGE) as recording:
        results: dict = {}
        xgb.train(settings, train, 25, evals=[(train, "train"), (test, "test")], evals_result=results)
        points(recording, results)

    with recorded("xgboost_early_stop", "xgboost", PACKAGE) as recording:
        x, y = load_diabetes(return_X_y=True)
        train, test = xgb.DMatrix(x[:300], y[:300]), xgb.DMatrix(x[300:], y[300:])
        results = {}
        xgb.train(
            {"eval_metric": ["rmse", "mape"], "verbosity": 2, "eta": 0.2, "nthread": 1, "min_split_loss": 1},
            train,
            100,
            evals=[(test, "held_out")],
            evals_result=results,
            verbose_eval=5,
            early_stopping_rounds=12,
        )
        points(recording, results, 5)

    with recorded("xgboost_cv", "xgboost", PACKAGE) as recording:
        x, y = load_digits(return_X_y=True)
        frame = xgb.cv(
            {"objective": "multi:softprob", "num_class": 10, "max_depth": 2, "eval_metric": ["mlogloss", "merror"], "nthread": 1},
            xgb.DMatrix(x[:600], y[:600]),
            8,
            nfold=3,
            verbose_eval=True,
            show_stdv=True,
            as_pandas=False,
            seed=9,
        )
        for dataset in ("train", "test"):
            for metric in ("mlogloss", "merror"):
                for step, value in enumerate(frame[f"{dataset}-{metric}-mean"]):
                    recording.point(f"{dataset}-{metric}", value, step=step, form=".5f")

    with recorded("xgboost_sklearn", "xgboost", PACKAGE) as recording:
        x, y = load_diabetes(return_X_y=True)
        model = xgb.XGBRegressor(n_estimators=15, max_depth=3, eval_metric="mae", random_state=3, n_jobs=1)
        model.fit(x[:200], y[:200], eval_set=[(x[:200], y[:200]), (x[200:], y[200:])])
        points(recording, model.evals_result())


if __name__ == "__main__":
    main()

"""NGBoost with a validation set."""

from __future__ import annotations

from ngboost import NGBRegressor
from sklearn.datasets import load_diabetes

from tests.frameworks.recording import recorded


def main() -> None:
    x, y = load_diabetes(return_X_y=True)
    with recorded("ngboost_train", "ngboost", optional="scale,norm", why="sizes of the step") as recording:
        model = NGBRegressor(n_estimators=120, verbose=True, verbose_eval=20, random_state=6, natural_gradient=True)
        model.fit(x[:300], y[:300], X_val=x[300:], Y_val=y[300:])
        for step in range(0, len(model.evals_result["train"]["LOGSCORE"]), 20):
            recording.point("loss", model.evals_result["train"]["LOGSCORE"][step], step=step, form=".4f")
            recording.point("val_loss", model.evals_result["val"]["LOGSCORE"][step], step=step, form=".4f")


if __name__ == "__main__":
    main()

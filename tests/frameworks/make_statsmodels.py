"""statsmodels: what its optimizers say of a minimum."""

from __future__ import annotations

import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer

from tests.frameworks.recording import recorded


def main() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    with recorded("statsmodels_logit", "statsmodels") as recording:
        for method in ("newton", "bfgs"):
            result = sm.Logit(y, sm.add_constant(x[:, [1, 4, 8]])).fit(method=method)
            recording.point("Current function value", -result.llf / len(y), form="f")


if __name__ == "__main__":
    main()

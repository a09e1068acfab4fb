"""Surprise: cross-validation's table, a verbose fit."""

from __future__ import annotations

import random

import pandas
from surprise import SVD, Dataset, Reader, accuracy
from surprise.model_selection import cross_validate

from tests.frameworks.recording import recorded


def main() -> None:
    draw = random.Random(6)
    rows = [(str(draw.randrange(40)), str(draw.randrange(30)), draw.randint(1, 5)) for _ in range(600)]
    with recorded("surprise_svd", "surprise", "scikit-surprise", optional="*Std", why="the spread of the folds") as recording:
        data = Dataset.load_from_df(pandas.DataFrame(rows), Reader(rating_scale=(1, 5)))
        found = cross_validate(SVD(n_epochs=5, random_state=1), data, measures=["RMSE", "MAE"], cv=3, verbose=True)
        for name in ("rmse", "mae"):
            for fold, value in enumerate(found[f"test_{name}"], 1):
                recording.point(f"{name.upper()} (testset)/Fold {fold}", value, form=".4f")
            recording.point(f"{name.upper()} (testset)/Mean", found[f"test_{name}"].mean(), form=".4f")
        whole = data.build_full_trainset()
        model = SVD(n_epochs=5, random_state=1, verbose=True).fit(whole)
        guesses = model.test(whole.build_testset())
        recording.point("RMSE", accuracy.rmse(guesses), form=".4f")
        recording.point("MAE", accuracy.mae(guesses), form=".4f")


if __name__ == "__main__":
    main()

"""implicit: a bar with the loss."""

from __future__ import annotations

from implicit.als import AlternatingLeastSquares
from scipy.sparse import random as sparse

from tests.frameworks.recording import recorded


def main() -> None:
    with recorded("implicit_als", "implicit") as recording:
        ratings = sparse(120, 60, 0.1, "csr", random_state=5)
        values = []
        model = AlternatingLeastSquares(8, iterations=15, calculate_training_loss=True, random_state=2, num_threads=1)
        model.fit(ratings, callback=lambda step, time, loss: values.append(loss))
        recording.point("loss", values[-1], step=15, form=".3g")


if __name__ == "__main__":
    main()

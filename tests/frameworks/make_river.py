"""river: progressive validation."""

from __future__ import annotations

from river import datasets, evaluate, linear_model, metrics, preprocessing

from tests.frameworks.recording import recorded


def main() -> None:
    with recorded("river_progressive", "river") as recording:
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.LogLoss(), step=125)
        found = [(row["Step"], row["Accuracy"].get(), row["LogLoss"].get()) for row in steps]
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.LogLoss(), print_every=125)
        for step, accuracy, loss in found:
            recording.point("Accuracy", accuracy * 100, step=step, form=".2f")
            recording.point("LogLoss", loss, step=step)


if __name__ == "__main__":
    main()

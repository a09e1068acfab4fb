"""Optuna: a line a trial, which repeats the best so far."""

from __future__ import annotations

import sys

import optuna

from tests.frameworks.recording import recorded


def main() -> None:
    with recorded("optuna_study", "optuna") as recording:
        handler = optuna.logging._default_handler
        handler.stream = sys.stderr
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=4))
        study.optimize(lambda trial: (trial.suggest_float("x", -3, 3) - 1) ** 2 + trial.suggest_int("n", 1, 4), n_trials=15)
        for trial in study.trials:
            recording.point("value", trial.value, step=trial.number)


if __name__ == "__main__":
    main()

"""DeepXDE: its table with lists in the cells."""

from __future__ import annotations

import os
import warnings

import numpy as np
import torch

from tests.frameworks.recording import recorded

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    os.environ["DDE_BACKEND"] = "pytorch"
    with recorded("deepxde_train", "deepxde") as recording:
        import deepxde as dde

        dde.config.set_random_seed(3)
        space = dde.geometry.Interval(-1, 1)
        data = dde.data.Function(space, lambda x: x * np.sin(5 * x), 16, 40)
        model = dde.Model(data, dde.nn.FNN([1, 20, 1], "tanh", "Glorot uniform"))
        model.compile("adam", lr=0.01, metrics=["l2 relative error"])
        history, state = model.train(iterations=300, display_every=50)
        for step, train, test, metric in zip(
            history.steps, history.loss_train, history.loss_test, history.metrics_test, strict=True
        ):
            recording.point("Train loss", train[0], step=step, form=".2e")
            recording.point("Test loss", test[0], step=step, form=".2e")
            recording.point("Test metric", metric[0], step=step, form=".2e")
        recording.point("train loss", state.best_loss_train, step=state.best_step, form=".2e")
        recording.point("test loss", state.best_loss_test, step=state.best_step, form=".2e")
        recording.point("test metric", state.best_metrics[0], step=state.best_step, form=".2e")


if __name__ == "__main__":
    main()

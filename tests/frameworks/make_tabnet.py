"""TabNet: a line an epoch."""

from __future__ import annotations

import warnings

import torch
from pytorch_tabnet.tab_model import TabNetRegressor
from sklearn.datasets import load_diabetes

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    x, y = table(load_diabetes, 4)
    with recorded("tabnet_fit", "pytorch-tabnet") as recording:
        model = TabNetRegressor(seed=4, n_d=4, n_a=4, verbose=1)
        y = (y.reshape(-1, 1) - 150) / 77
        model.fit(
            x[:300],
            y[:300],
            [(x[300:], y[300:])],
            ["holdout"],
            ["rmse", "mae"],
            max_epochs=8,
            batch_size=100,
            virtual_batch_size=100,
        )
        history = model.history
        for epoch in range(8):
            for name in ("loss", "holdout_rmse", "holdout_mae"):
                recording.point(name, history[name][epoch], epoch=epoch, form=".5f")


if __name__ == "__main__":
    main()

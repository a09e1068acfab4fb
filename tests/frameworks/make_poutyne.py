"""Poutyne: lines of an epoch's bar."""

from __future__ import annotations

import warnings

import torch
from poutyne import Model
from sklearn.datasets import load_wine

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    x, y = table(load_wine, 6)
    with recorded("poutyne_fit", "poutyne") as recording:
        net = network(13, 3)
        model = Model(net, torch.optim.SGD(net.parameters(), 0.05), "cross_entropy", batch_metrics=["acc"])
        rows = model.fit(
            x[:130], y[:130], validation_data=(x[130:], y[130:]), epochs=8, batch_size=16, progress_options={"coloring": False}
        )
        for row in rows:
            for name in ("loss", "acc", "val_loss", "val_acc"):
                recording.point(name, row[name], epoch=row["epoch"], form="f")


if __name__ == "__main__":
    main()

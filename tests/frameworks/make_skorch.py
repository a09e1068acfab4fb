"""skorch: the table of a fit."""

from __future__ import annotations

import warnings

import torch
from sklearn.datasets import load_breast_cancer
from skorch import NeuralNetClassifier
from torch import nn

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    x, y = table(load_breast_cancer, 2)
    with recorded("skorch_fit", "skorch", optional="dur", why="seconds of an epoch") as recording:
        model = NeuralNetClassifier(network(30, 2), criterion=nn.CrossEntropyLoss, max_epochs=12, lr=0.1, batch_size=64)
        model.fit(x, y)
        for row in model.history:
            for name in ("train_loss", "valid_acc", "valid_loss"):
                recording.point(name, row[name], epoch=row["epoch"], form=".4f")


if __name__ == "__main__":
    main()

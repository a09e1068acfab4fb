"""fastai: the table of a fit, its progress bar in a file."""

from __future__ import annotations

import warnings

import fastai.callback.progress  # noqa: F401  # the table that fit() prints
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from sklearn.datasets import load_digits

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import loader, network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    class Told(Callback):
        order = 60  # behind the Recorder

        def after_epoch(self):
            for name, value in zip(["train_loss", "valid_loss", "accuracy"], self.recorder.log[1:4], strict=True):
                recording.point(name, value, epoch=self.epoch, form="f")

    x, y = table(load_digits, 5)
    with recorded("fastai_fit", "fastai") as recording:
        sets = DataLoaders(loader(x[:1200], y[:1200], 64), loader(x[1200:], y[1200:], 64))
        learner = Learner(sets, network(64, 10), loss_func=CrossEntropyLossFlat(), metrics=accuracy, cbs=Told())
        learner.fit(6, 1e-3)


if __name__ == "__main__":
    main()

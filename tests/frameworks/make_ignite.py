"""Ignite: bars of epochs that stay, and a validation through logging."""

from __future__ import annotations

import logging
import sys
import warnings

import torch
from ignite.contrib.handlers import ProgressBar
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss, RunningAverage
from sklearn.datasets import load_digits
from torch import nn

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import loader, network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    x, y = table(load_digits, 3)
    with recorded("ignite_run", "pytorch-ignite") as recording:
        model, loss = network(64, 10), nn.CrossEntropyLoss()
        trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), 0.01), loss)
        judge = create_supervised_evaluator(model, {"accuracy": Accuracy(), "nll": Loss(loss)})
        RunningAverage(output_transform=lambda out: out).attach(trainer, "running")
        ProgressBar(persist=True).attach(trainer, ["running"])
        logging.basicConfig(
            stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s", force=True
        )

        @trainer.on(Events.EPOCH_COMPLETED)
        def told(engine):
            judge.run(loader(x[1300:], y[1300:], 128))
            found, epoch = judge.state.metrics, engine.state.epoch
            logging.getLogger("digits").info(
                f"Validation - Epoch[{epoch}] Avg accuracy: {found['accuracy']:.3f} nll: {found['nll']:.4f}"
            )
            recording.point("Avg accuracy", found["accuracy"], epoch=epoch, form=".3f", line=recording.at)
            recording.point("nll", found["nll"], epoch=epoch, form=".4f", line=recording.at)

        @trainer.on(Events.EPOCH_COMPLETED)
        def bar(engine):
            recording.point("running", engine.state.metrics["running"], step=11, epoch=engine.state.epoch, form=".3g")

        trainer.run(loader(x[:1300], y[:1300], 128), max_epochs=5)


if __name__ == "__main__":
    main()

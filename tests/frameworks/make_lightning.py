"""Lightning: the bar of a file and of a terminal, rich's bar and tables, the file of CSVLogger."""

from __future__ import annotations

import logging
import shutil
import sys
import warnings
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import Callback, RichProgressBar, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits, load_wine
from torch.utils.data import DataLoader, TensorDataset

from tests.frameworks.recording import LOGS, recorded

warnings.simplefilter("ignore")
torch.set_num_threads(1)


class Model(lightning.LightningModule):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(inputs, 16), torch.nn.ReLU(), torch.nn.Linear(16, outputs))

    def _step(self, batch, name: str, **options):
        x, y = batch
        out = self.net(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        self.log(f"{name}_loss", loss, prog_bar=True, **options)
        self.log(f"{name}/acc", (out.argmax(1) == y).float().mean(), prog_bar=name != "train", **options)
        return loss

    def training_step(self, batch, index):
        return self._step(batch, "train", on_step=False, on_epoch=True)

    def validation_step(self, batch, index):
        self._step(batch, "val")

    def test_step(self, batch, index):
        self._step(batch, "test")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.02)


class Told(Callback):
    """What a bar shows where its line ends: at a validation the values of the epoch before, at an epoch's end its own.

    tqdm's bar prints three digits, rich's three behind the point. Without `leave` only the last epoch's bar ends its line.
    """

    def __init__(self, recording, form: str, leave: bool) -> None:
        self.recording = recording
        self.form = form
        self.leave = leave

    def _tell(self, trainer):
        step = trainer.num_training_batches if self.form == ".3g" else None
        for name, value in trainer.progress_bar_metrics.items():
            self.recording.point(name, value, step=step, epoch=trainer.current_epoch, form=self.form)

    def on_validation_start(self, trainer, module):
        if not trainer.sanity_checking and self.form == ".3g":
            self._tell(trainer)

    def on_train_epoch_end(self, trainer, module):
        last = trainer.current_epoch == trainer.max_epochs - 1
        for _ in range(
            self.leave + (last and self.form == ".3g" and not self.leave) * 2
        ):  # a message ends the last line once more
            self._tell(trainer)


def loaders(data, size: int):
    x, y = data(return_X_y=True)
    x = torch.tensor((x - x.mean(0)) / (x.std(0) + 1e-6), dtype=torch.float32)
    whole = TensorDataset(x, torch.tensor(y))
    train, valid = torch.utils.data.random_split(whole, [0.75, 0.25], torch.Generator().manual_seed(size))
    return DataLoader(train, size, shuffle=True), DataLoader(valid, size)


def trainer(*callbacks, **options):
    return lightning.Trainer(accelerator="cpu", callbacks=list(callbacks), enable_checkpointing=False, **options)


def tested(recording, results) -> None:
    for name, value in results[0].items():
        recording.point(name, value)


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.INFO)
    for handler in logging.getLogger("lightning").handlers + logging.getLogger("lightning.pytorch").handlers:
        handler.stream = sys.stderr

    lightning.seed_everything(7)
    with recorded("lightning_file", "lightning") as recording:
        train, valid = loaders(load_wine, 16)
        run = trainer(TQDMProgressBar(refresh_rate=4), Told(recording, ".3g", False), max_epochs=3, logger=False)
        model = Model(13, 3)
        run.fit(model, train, valid)
        tested(recording, run.test(model, valid))

    lightning.seed_everything(8)
    with recorded("lightning_terminal", "lightning", terminal=True) as recording:
        train, valid = loaders(load_digits, 64)
        run = trainer(TQDMProgressBar(refresh_rate=5, leave=True), Told(recording, ".3g", True), max_epochs=4, logger=False)
        run.fit(Model(64, 10), train, valid)

    with recorded("lightning_rich", "lightning") as recording:
        train, valid = loaders(load_wine, 32)
        run = trainer(RichProgressBar(leave=True), Told(recording, ".3f", True), max_epochs=3, logger=False)
        model = Model(13, 3)
        run.fit(model, train, valid)
        tested(recording, run.test(model, valid))

    with recorded("lightning_csv", "lightning") as recording:
        train, valid = loaders(load_digits, 128)

        class Logged(CSVLogger):
            def log_metrics(self, metrics, step=None):
                metrics = dict(metrics)
                epoch = metrics.pop("epoch", None)
                for name, value in metrics.items():
                    recording.point(name, value, step=step, epoch=epoch)
                super().log_metrics({**metrics, "epoch": epoch} if epoch is not None else metrics, step)

        logger = Logged(".", flush_logs_every_n_steps=1)
        run = trainer(logger=logger, max_epochs=6, enable_progress_bar=False, log_every_n_steps=2)
        run.fit(Model(64, 10), train, valid)
        shutil.copy(Path(logger.log_dir) / "metrics.csv", LOGS / "lightning_csv.log")


if __name__ == "__main__":
    main()

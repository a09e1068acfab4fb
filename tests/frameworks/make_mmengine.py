"""MMEngine's Runner: environment, configuration, training and validation lines."""

from __future__ import annotations

import warnings

import torch
from mmengine.evaluator import BaseMetric
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from sklearn.datasets import load_wine
from torch import nn

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import loader, network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    class Net(BaseModel):
        def __init__(self):
            super().__init__()
            self.net = network(13, 3)

        def forward(self, x, y, mode="tensor"):
            out = self.net(x)
            return {"loss": nn.functional.cross_entropy(out, y)} if mode == "loss" else (out, y)

    class Accuracy(BaseMetric):
        default_prefix = "top1"

        def process(self, batch, samples):
            self.results.append({"right": int((samples[0].argmax(1) == samples[1]).sum()), "of": len(samples[1])})

        def compute_metrics(self, results):
            return {"accuracy": 100 * sum(r["right"] for r in results) / sum(r["of"] for r in results)}

    class Told(Hook):
        priority = "LOWEST"

        def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
            if (batch_idx + 1) % 2 == 0:
                scalars = runner.message_hub.log_scalars
                for name, form in (("train/loss", ".4f"), ("train/lr", ".4e")):
                    history = scalars[name]
                    value = history.current() if name == "train/lr" else history.mean(2)
                    recording.point(name[6:], value, step=batch_idx + 1, epoch=runner.epoch + 1, form=form)

        def after_val_epoch(self, runner, metrics=None):
            for name, value in metrics.items():
                recording.point(name, value, epoch=runner.epoch, form=".4f")

    x, y = table(load_wine, 7)
    with recorded("mmengine_run", "mmengine", optional="time,data_time", why="seconds of an iteration") as recording:
        Runner(
            Net(),
            "work",
            loader(x[:128], y[:128], 16),
            loader(x[128:], y[128:], 16),
            train_cfg={"by_epoch": True, "max_epochs": 3, "val_interval": 1},
            optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1}},
            val_cfg={},
            val_evaluator=[Accuracy()],
            default_hooks={"logger": {"type": "LoggerHook", "interval": 2}, "checkpoint": None},
            custom_hooks=[Told()],
            log_processor={"window_size": 2},
            randomness={"seed": 1},
        ).train()


if __name__ == "__main__":
    main()

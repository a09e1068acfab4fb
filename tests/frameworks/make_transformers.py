"""Transformers' Trainer: dictionaries between bars, evaluation, the closing summaries."""

from __future__ import annotations

import logging
import sys

import torch
import transformers
from transformers import Trainer, TrainerCallback, TrainingArguments

from tests.frameworks.recording import recorded

torch.set_num_threads(1)


class Words(torch.utils.data.Dataset):
    """Sequences whose label is whether their sum is even."""

    def __init__(self, rows: int, seed: int) -> None:
        draw = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(5, 60, (rows, 12), generator=draw)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones(12, dtype=torch.long), "labels": self.ids[i].sum() % 2}


class Told(TrainerCallback):
    """`on_log` gives the dictionary that is printed; beside a bar its epoch has two decimals."""

    def __init__(self, recording, digits: int) -> None:
        self.recording = recording
        self.digits = digits

    def on_log(self, args, state, control, logs=None, **kwargs):
        logs = dict(logs)
        epoch = round(logs.pop("epoch"), self.digits)
        for name, value in logs.items():
            if name != "total_flos":
                self.recording.point(name, value, epoch=epoch)


def model():
    torch.manual_seed(3)
    config = transformers.BertConfig(64, 16, 1, 2, 32, max_position_embeddings=16)
    return transformers.BertForSequenceClassification(config)


def accuracy(told):
    return {"accuracy": float((told.predictions.argmax(1) == told.label_ids).mean())}


def main() -> None:
    settings = {"report_to": [], "use_cpu": True, "seed": 5, "per_device_train_batch_size": 16, "save_strategy": "no"}
    with recorded("transformers_trainer", "transformers") as recording:
        args = TrainingArguments(
            "out", num_train_epochs=3, logging_steps=4, eval_strategy="epoch", learning_rate=1e-3, **settings
        )
        run = Trainer(model(), args, train_dataset=Words(200, 1), eval_dataset=Words(64, 2), compute_metrics=accuracy)
        run.add_callback(Told(recording, 2))
        run.train()

    with recorded("transformers_summary", "transformers") as recording:
        transformers.utils.logging.set_verbosity_info()
        logging.getLogger("transformers").handlers[0].stream = sys.stderr
        args = TrainingArguments("out", max_steps=40, logging_steps=5, disable_tqdm=True, warmup_steps=5, **settings)
        run = Trainer(model(), args, train_dataset=Words(150, 3), eval_dataset=Words(50, 4), compute_metrics=accuracy)
        run.add_callback(Told(recording, 17))
        summary = run.train().metrics
        run.log_metrics("train", summary)
        result = run.evaluate()
        run.log_metrics("eval", result)
        for split, metrics in (("train", summary), ("eval", result)):
            for name, value in metrics.items():
                if not name.endswith(("_flos", "_runtime")) and name != "epoch":
                    recording.point(name, value, epoch=round(metrics["epoch"], 4), form=".4f" if name != split else "")


if __name__ == "__main__":
    main()

"""flair: a tagger of sentences trained from nothing, a line each few batches, scores of each epoch, a closing report."""

from __future__ import annotations

import logging
import random
import sys

import flair
import torch
from flair.data import Corpus, Sentence
from flair.datasets import FlairDatapointDataset
from flair.embeddings import DocumentPoolEmbeddings, OneHotEmbeddings
from flair.models import TextClassifier
from flair.trainers import ModelTrainer
from flair.trainers.plugins import TrainerPlugin

from tests.frameworks.recording import recorded

torch.set_num_threads(1)
RATE = 0.2


def sentences(rows: int, seed: int) -> FlairDatapointDataset:
    draw, made = random.Random(seed), []
    for _ in range(rows):
        words = [draw.choice(["red", "blue", "tall"]), draw.choice(["house", "tree"]), draw.choice(["runs", "falls"])]
        tree = ("tree" in words) != (draw.random() < 0.15)  # some are told wrong, or all scores were 1
        made.append(Sentence(" ".join(words)).add_label("kind", "good" if tree else "bad"))
    return FlairDatapointDataset(made)


class Told(TrainerPlugin):
    """Every number that the trainer tells its plugins, as the lines of the log show it: means of the epoch so far."""

    def __init__(self, recording) -> None:
        super().__init__()
        self.recording = recording
        self.epoch, self.losses = 1, []

    @TrainerPlugin.hook
    def metric_recorded(self, record):
        name = "/".join(record.name.parts)
        if name == "train/batch_loss":
            self.losses.append(float(record.value))
            mean, step = sum(self.losses) / len(self.losses), len(self.losses)
            for shown, value, form in (("loss", mean, ".8f"), ("lr", RATE, ".6f"), ("momentum", 0, ".6f")):
                self.recording.point(shown, value, step=step, epoch=self.epoch, form=form)
        elif name == "train/loss":
            self.epoch, self.losses = record.global_step + 1, []
            self.recording.point("loss", record.value, epoch=record.global_step, form=".4f")
            self.recording.point("lr", RATE, epoch=record.global_step, form=".6f")
        elif name == "dev/loss":
            self.recording.point("DEV loss", record.value, epoch=record.global_step)
        elif name == "dev/micro avg/f1-score":
            self.recording.point("DEV f1-score (micro avg)", record.value, epoch=record.global_step, form=".4f")


def main() -> None:
    flair.set_seed(4)
    with recorded("flair_train", "flair", optional="samples/sec,time*", why="speeds") as recording:
        logging.getLogger("flair").handlers[0].stream = sys.stdout
        corpus = Corpus(sentences(160, 1), sentences(40, 2), sentences(60, 3))
        tags = corpus.make_label_dictionary("kind")
        words = DocumentPoolEmbeddings([OneHotEmbeddings.from_corpus(corpus, min_freq=1)])
        model = TextClassifier(words, "kind", label_dictionary=tags)
        ModelTrainer(model, corpus).train("out", learning_rate=RATE, mini_batch_size=16, max_epochs=4, plugins=[Told(recording)])
        report = model.evaluate(corpus.test, "kind").classification_report
        recording.point("F-score (micro)", report["accuracy"], form=".4f")
        recording.point("F-score (macro)", report["macro avg"]["f1-score"], form=".4f")
        for _ in range(2):  # in the list and in the table
            recording.point("Accuracy", report["accuracy"], form=".4f")
        for average in ("macro avg", "weighted avg"):
            for name in ("precision", "recall", "f1-score"):
                recording.point(f"{average} {name}", report[average][name], form=".4f")


if __name__ == "__main__":
    main()

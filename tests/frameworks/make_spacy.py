"""spaCy's training loop with its console table, on a few sentences made here."""

from __future__ import annotations

import random
import sys

from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loggers import console_logger
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Config

from tests.frameworks.recording import recorded

CONFIG = """
[nlp]
lang = "en"
pipeline = ["tok2vec","tagger","textcat"]

[components]

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 16
depth = 1
embed_size = 200
window_size = 1
maxout_pieces = 2
subword_features = false

[components.tagger]
factory = "tagger"

[components.tagger.model]
@architectures = "spacy.Tagger.v2"

[components.tagger.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 16

[components.textcat]
factory = "textcat"

[training]
gpu_allocator = null
seed = 3
max_steps = 120
eval_frequency = 20
patience = 0
dropout = 0.1

[training.logger]
@loggers = "made.Told.v1"

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 8

[corpora]

[corpora.train]
@readers = "made.Sentences.v1"

[corpora.dev]
@readers = "made.Sentences.v1"
"""


@registry.readers("made.Sentences.v1")
def sentences():
    def read(nlp):
        draw = random.Random(4)
        for _ in range(60):
            happy = draw.random() < 0.5
            words = ["the", draw.choice(["cat", "dog", "tree"]), draw.choice(["sees", "likes"]), "a"]
            words.append(draw.choice(["gift", "cake"] if happy else ["storm", "bill"]))
            doc = Doc(nlp.vocab, words=words)
            yield Example.from_dict(doc, {"tags": ["DT", "NN", "VB", "DT", "NN"], "cats": {"GOOD": happy, "BAD": not happy}})

    return read


def main() -> None:
    with recorded("spacy_train", "spacy") as recording:

        @registry.loggers("made.Told.v1")
        def told():
            console = console_logger(progress_bar=False)

            def setup(nlp, stdout=sys.stdout, stderr=sys.stderr):
                log, finish = console(nlp, stdout, stderr)

                def step(info):
                    log(info)
                    if info is None:
                        return
                    line, epoch, at = recording.at, info["epoch"], info["step"]
                    for pipe in ("tok2vec", "tagger", "textcat"):
                        recording.point(f"LOSS {pipe.upper()}", info["losses"][pipe], step=at, epoch=epoch, form=".2f", line=line)
                    for name in ("tag_acc", "pos_acc", "cats_score"):
                        score = info["other_scores"].get(name) or 0  # nothing here predicts pos_acc: shown as 0.00
                        recording.point(name, score * 100, step=at, epoch=epoch, form=".2f", line=line)
                    recording.point("SCORE", info["score"], step=at, epoch=epoch, form=".2f", line=line)

                return step, finish

            return setup

        nlp = init_nlp(Config().from_str(CONFIG))
        train(nlp, None)


if __name__ == "__main__":
    main()

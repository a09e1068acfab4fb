"""gensim: Word2Vec with losses by callback, LDA with perplexities."""

from __future__ import annotations

import logging
import sys

from gensim.corpora import Dictionary
from gensim.models import LdaModel, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec, PerplexityMetric

from tests.frameworks.recording import recorded
from tests.frameworks.sentences import sentences


def main() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s : %(levelname)s : %(message)s", level=logging.INFO, force=True)

    class Loss(CallbackAny2Vec):
        def __init__(self):
            self.epoch, self.before = 0, 0.0

        def on_epoch_end(self, model):
            total = model.get_latest_training_loss()
            print(f"Loss after epoch {self.epoch}: {total - self.before}", flush=True)
            recording.point("Loss", total - self.before, epoch=self.epoch, line=recording.at)
            self.epoch, self.before = self.epoch + 1, total

    with recorded("gensim_word2vec", "gensim") as recording:
        Word2Vec(
            sentences(600, 2), vector_size=8, min_count=1, workers=1, epochs=7, seed=3, compute_loss=True, callbacks=[Loss()]
        )

    with recorded("gensim_lda", "gensim", optional="topic*,rho", why="in no API") as recording:
        texts = sentences(200, 4)
        words = Dictionary(texts)
        corpus = [words.doc2bow(text) for text in texts]
        model = LdaModel(
            corpus,
            3,
            words,
            passes=6,
            random_state=1,
            eval_every=None,
            callbacks=[PerplexityMetric(corpus, logger="shell", title="Held-out perplexity")],
        )
        for epoch, value in enumerate(model.metrics["Held-out perplexity"]):
            recording.point("Held-out perplexity estimate", value, epoch=epoch)


if __name__ == "__main__":
    main()

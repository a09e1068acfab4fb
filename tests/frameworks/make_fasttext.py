"""fastText: one bar that redraws itself, and a test."""

from __future__ import annotations

from pathlib import Path

import fasttext

from tests.frameworks.recording import recorded
from tests.frameworks.sentences import sentences


def main() -> None:
    with recorded(
        "fasttext_supervised",
        "fasttext",
        "fasttext-wheel",
        optional="lr,avg.loss,words/sec*",
        why="the last bar, in no API",
    ) as recording:
        lines = [f"__label__{'good' if 'tree' in words else 'bad'} {' '.join(words)}" for words in sentences(3000, 1)]
        Path("train.txt").write_text("\n".join(lines))
        model = fasttext.train_supervised("train.txt", epoch=20, lr=0.3, thread=1, verbose=2)
        count, precision, recall = model.test("train.txt")
        print(f"N\t{count}\nP@1\t{precision:.3f}\nR@1\t{recall:.3f}")
        recording.point("P@1", precision, form=".3f")
        recording.point("R@1", recall, form=".3f")


if __name__ == "__main__":
    main()

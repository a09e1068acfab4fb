"""Vowpal Wabbit: its table of progressive loss over several passes."""

from __future__ import annotations

import random
from pathlib import Path

import vowpalwabbit

from tests.frameworks.recording import recorded


def main() -> None:
    draw = random.Random(5)
    rows = []
    for _ in range(800):
        a, b = draw.random(), draw.random()
        rows.append(f"{a - 2 * b + draw.gauss(0, 0.1):.4f} | a:{a:.3f} b:{b:.3f}")
    with recorded(
        "vowpal_wabbit",
        "vowpalwabbit",
        optional="since last,example*,current*,weighted*",
        why="the row's own example; sums",
    ) as recording:
        Path("train.txt").write_text("\n".join(rows))
        vowpalwabbit.Workspace("-d train.txt -c --passes 3 --holdout_off", quiet=False).finish()
        model, count = vowpalwabbit.Workspace(quiet=True), 0
        for row in rows * 3:
            model.learn(row)
            count += 1
            if count & (count - 1) == 0:
                recording.point("average loss", model.get_sum_loss() / count, step=count, form="f")
        recording.point("average loss", model.get_sum_loss() / count, form="f")


if __name__ == "__main__":
    main()

"""tensorboardX: an event file with scalars, a histogram, a text and hyper-parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tensorboardX import SummaryWriter

from tests.frameworks.recording import LOGS, recorded


def main() -> None:
    with recorded("tensorboardx_events", "tensorboardX", suffix=".tfevents") as recording:
        writer = SummaryWriter("events")
        draw = np.random.default_rng(7)
        for step in range(0, 200, 5):
            loss, score = np.float32(3 / (step + 1) + draw.random()), np.float32(draw.random())
            writer.add_scalar("train/loss", loss, step)
            writer.add_scalars("scores", {"valid": score}, step)
            recording.point("train/loss", loss, step=step)
        writer.add_histogram("weights", draw.normal(size=50), 10)
        writer.add_text("note", "a text beside the numbers", 10)
        writer.add_hparams({"lr": 0.1}, {"hparam/score": 0.5}, name="one", global_step=200)
        writer.close()
        file = next(Path("events").glob("events.out*"))
        (LOGS / "tensorboardx_events.tfevents").write_bytes(file.read_bytes())


if __name__ == "__main__":
    main()

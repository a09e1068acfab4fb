"""Stable-Baselines3: A2C's boxes."""

from __future__ import annotations

import sys
import warnings

import gymnasium
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HumanOutputFormat, KVWriter, Logger

from tests.frameworks.recording import recorded

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    class Told(KVWriter):
        """A writer beside the one that prints: gets the same values at the same moment."""

        def write(self, values, excluded, step=0):
            for name, value in values.items():
                if name not in ("time/iterations", "time/time_elapsed", "time/total_timesteps", "train/n_updates"):
                    recording.point(name, value, step=step, form="" if isinstance(value, int) else ".3g")

        def close(self):
            pass

    class Nothing(BaseCallback):
        def _on_step(self) -> bool:
            return True

    with recorded(
        "stable_baselines3_a2c",
        "stable-baselines3",
        optional="time/iterations,time/time_elapsed",
        why="a counter and a time",
    ) as recording:
        model = A2C("MlpPolicy", gymnasium.make("CartPole-v1"), seed=9, verbose=1, device="cpu")
        model.set_logger(Logger(None, [HumanOutputFormat(sys.stdout), Told()]))
        model.learn(1500, Nothing(), log_interval=50)


if __name__ == "__main__":
    main()

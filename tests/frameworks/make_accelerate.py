"""Accelerate: a loop as its examples write it, with a bar and logging on the same stream."""

from __future__ import annotations

import logging
import sys
import warnings

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from sklearn.datasets import load_digits
from torch import nn
from tqdm.auto import tqdm

from tests.frameworks.recording import recorded
from tests.frameworks.torch_parts import loader, network, table

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def main() -> None:
    x, y = table(load_digits, 8)
    with recorded("accelerate_loop", "accelerate") as recording:
        logging.basicConfig(
            stream=sys.stderr,
            format="%(asctime)s - %(levelname)s - %(name)s - %(message)s",
            datefmt="%m/%d/%Y %H:%M:%S",
            level=logging.INFO,
            force=True,
        )
        accelerator, logger = Accelerator(cpu=True), get_logger("run_digits", log_level="INFO")
        model, batches = network(64, 10), loader(x, y, 150)
        model, optimizer, batches = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 3e-3), batches)
        logger.info("***** Running training *****")
        logger.info(f"  Num examples = {len(x)}")
        logger.info("  Total optimization steps = 36")
        bar, step = tqdm(range(36), mininterval=0), 0
        for epoch in range(3):
            total = 0.0
            for inputs, labels in batches:
                loss = nn.functional.cross_entropy(model(inputs), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                total += loss.item()
                step += 1
                bar.update(1)
                bar.set_postfix(loss=loss.item(), lr=optimizer.param_groups[0]["lr"])
            recording.point("loss", loss.item(), step=step, form=".3g")  # the log record ends the bar's line
            recording.point("lr", 3e-3, step=step)
            score = (model(torch.tensor(x)).argmax(1) == torch.tensor(y)).float().mean().item()
            logger.info(f"epoch {epoch}: train_loss: {total / 12:.6f}, eval_accuracy: {score}")
            line = recording.at
            recording.point("train_loss", total / 12, epoch=epoch, form=".6f", line=line)
            recording.point("eval_accuracy", score, epoch=epoch, line=line)
        bar.close()
        recording.point("loss", loss.item(), step=step, form=".3g", line=recording.at)
        recording.point("lr", 3e-3, step=step, line=recording.at)


if __name__ == "__main__":
    main()

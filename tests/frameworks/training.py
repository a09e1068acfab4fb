"""A training loop without a framework: what it gives to a library that prints is the truth."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits


def training(seed: int, epochs: int, batches: int = 6):
    """(epoch from 1, step from 1, loss, accuracy, rate) of each batch."""
    draw = np.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x, y, w = x / 16, np.eye(10)[y], draw.normal(0, 0.01, (64, 10))
    step = 0
    for epoch in range(1, epochs + 1):
        rate = 2.0 * 0.9**epoch
        for part in np.array_split(draw.permutation(len(x)), batches):
            logits = x[part] @ w
            p = np.exp(logits - logits.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            w -= rate * x[part].T @ (p - y[part]) / len(part)
            step += 1
            loss = float(-np.log((p * y[part]).sum(1)).mean())
            yield epoch, step, loss, float((p.argmax(1) == y[part].argmax(1)).mean()), rate

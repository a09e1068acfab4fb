"""Paddle's high-level API: a fit with its progress bar in a file, one line an epoch."""

from __future__ import annotations

import numpy as np
import paddle
from sklearn.datasets import load_digits

from tests.frameworks.recording import recorded


def main() -> None:
    paddle.seed(3)
    x, y = load_digits(return_X_y=True)
    rows = [(np.float32(a / 16), np.int64([b])) for a, b in zip(x, y, strict=True)]

    class Told(paddle.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch + 1

        def on_train_batch_end(self, step, logs=None):
            self.steps = step + 1

        def on_epoch_end(self, epoch, logs=None):
            self._tell(logs, self.steps, epoch + 1)

        def on_eval_end(self, logs=None):
            self._tell(logs, None, self.epoch)

        def _tell(self, logs, step, epoch):
            for name in ("loss", "acc"):
                value = logs[name][0] if isinstance(logs[name], (list, tuple)) else logs[name]
                recording.point(name, value, step=step, epoch=epoch, form=".4f" if abs(value) > 1e-3 else ".4e")

    with recorded("paddle_fit", "paddlepaddle") as recording:
        net = paddle.nn.Sequential(paddle.nn.Linear(64, 16), paddle.nn.ReLU(), paddle.nn.Linear(16, 10))
        model = paddle.Model(net)
        model.prepare(
            paddle.optimizer.Adam(0.01, parameters=net.parameters()), paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy()
        )
        model.fit(rows[:1400], rows[1400:], batch_size=64, epochs=4, verbose=2, log_freq=10**6, callbacks=[Told()])


if __name__ == "__main__":
    main()

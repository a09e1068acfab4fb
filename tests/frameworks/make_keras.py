"""Keras 3 on JAX: bars that redraw on a terminal, bars in a file, one line an epoch, CSVLogger's file."""

from __future__ import annotations

import os
import shutil

os.environ["KERAS_BACKEND"] = "jax"

import keras  # after the choice of its backend
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from tests.frameworks.recording import LOGS, recorded

METER = (".4f", ".4e")  # Keras prints four decimals, in exponent form what is at most 1e-3


def form(value: float) -> str:
    return METER[0] if abs(value) > 1e-3 else METER[1]


class Told(keras.callbacks.Callback):
    """What the epoch's line has just shown. Runs behind the bar, which Keras puts first."""

    def __init__(self, recording) -> None:
        super().__init__()
        self.recording = recording

    def on_epoch_end(self, epoch, logs=None):
        for name, value in logs.items():
            self.recording.point(name, value, epoch=epoch + 1, form=form(value))


def network(inputs: int, outputs: int, metrics: list[str], loss: str, rate: float = 0.01):
    keras.utils.set_random_seed(inputs)
    last = "softmax" if outputs > 1 else None
    layers = [
        keras.layers.Input((inputs,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(outputs, activation=last),
    ]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(rate), loss, metrics=metrics)
    return model


def main() -> None:
    x, y = load_digits(return_X_y=True)
    with recorded("keras_terminal", "keras", terminal=True) as recording:
        model = network(64, 10, ["accuracy"], "sparse_categorical_crossentropy")
        model.summary()
        model.fit(x / 16, y, epochs=4, batch_size=256, validation_split=0.2, callbacks=[Told(recording)])

    with recorded("keras_file", "keras") as recording:
        x, y = load_wine(return_X_y=True)
        model = network(13, 3, ["accuracy"], "sparse_categorical_crossentropy")
        model.fit(x, y, epochs=8, batch_size=64, validation_split=0.3, callbacks=[Told(recording)])
        result = model.evaluate(x, y, return_dict=True)
        for name, value in result.items():
            recording.point(name, value, form=form(value))

    with recorded("keras_lines", "keras") as recording:
        x, y = load_diabetes(return_X_y=True)
        model = network(10, 1, ["mae", "root_mean_squared_error"], "mse")
        plateau = keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1, factor=0.5, min_delta=10)
        stop = keras.callbacks.EarlyStopping(patience=3, verbose=1, restore_best_weights=True)
        best = keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True, verbose=1)
        model.fit(x, y, epochs=15, verbose=2, validation_split=0.2, callbacks=[plateau, stop, best, Told(recording)])

    with recorded("keras_csv", "keras") as recording:
        x, y = load_breast_cancer(return_X_y=True)
        model = network(30, 2, ["accuracy"], "sparse_categorical_crossentropy", 1e-4)
        history = model.fit(
            x, y, epochs=20, verbose=0, validation_split=0.2, callbacks=[keras.callbacks.CSVLogger("run.csv")]
        ).history
        for name, values in history.items():
            for epoch, value in enumerate(values):
                recording.point(name, value, epoch=epoch)
        shutil.copy("run.csv", LOGS / "keras_csv.log")


if __name__ == "__main__":
    main()

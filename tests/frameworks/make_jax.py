"""JAX with optax: a loop that logs through absl."""

from __future__ import annotations

import sys

import jax
import optax
from absl import logging as absl
from jax import numpy
from sklearn.datasets import load_digits

from tests.frameworks.recording import recorded


def main() -> None:
    with recorded("jax_absl", "optax") as recording:
        absl.set_verbosity(absl.INFO)
        absl.use_absl_handler()
        absl.get_absl_handler().python_handler.stream = sys.stderr
        x, y = load_digits(return_X_y=True)
        x = numpy.asarray(x / 16)
        parameters = {"w": numpy.zeros((64, 10)), "b": numpy.zeros(10)}
        tool = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.05))
        state = tool.init(parameters)
        absl.info("parameters: %s", jax.tree.map(numpy.shape, parameters))

        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(x @ p["w"] + p["b"], y).mean()

        for step in range(1, 61):
            value, grads = jax.value_and_grad(loss)(parameters)
            updates, state = tool.update(grads, state)
            parameters = optax.apply_updates(parameters, updates)
            if step % 5 == 0:
                accuracy, norm = ((x @ parameters["w"] + parameters["b"]).argmax(1) == y).mean(), optax.global_norm(grads)
                absl.info("train step: %d, loss: %0.4f, grad_norm: %.3e, accuracy: %0.2f", step, value, norm, accuracy * 100)
                for name, number, form in (
                    ("loss", value, ".4f"),
                    ("grad_norm", norm, ".3e"),
                    ("accuracy", accuracy * 100, ".2f"),
                ):
                    recording.point(name, number, step=step, form=form, line=recording.at)
            if step % 20 == 0:
                absl.info("eval %s", {"loss": numpy.asarray(value), "step": step})
                recording.point("loss", float(str(numpy.float32(value))), step=step, line=recording.at)


if __name__ == "__main__":
    main()

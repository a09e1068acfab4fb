"""NumPyro: the bar of a variational fit."""

from __future__ import annotations

import jax
import numpyro
from jax import numpy
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from sklearn.datasets import load_diabetes

from tests.frameworks.recording import recorded


def main() -> None:
    def model(x, y):
        w = numpyro.sample("w", numpyro.distributions.Normal(numpy.zeros(x.shape[1]), 1).to_event(1))
        numpyro.sample("y", numpyro.distributions.Normal(x @ w, 1), obs=y)

    with recorded("numpyro_svi", "numpyro") as recording:
        x, y = load_diabetes(return_X_y=True)
        svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
        losses = svi.run(jax.random.PRNGKey(2), 400, x, (y - y.mean()) / y.std()).losses
        recording.point("init loss", losses[0], step=400, form=".4f")
        recording.point("avg. loss", numpy.mean(losses[380:]), step=400, form=".4f")


if __name__ == "__main__":
    main()

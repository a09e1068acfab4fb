"""scikit-learn's verbose outputs: boosting, networks, mixtures, topics, clusters, embeddings, a search over settings.

Where an estimator keeps no history, a subclass or a wrapped function notes what it computes while it computes it; where the
run is deterministic, `fit(max_iter=k)` gives the state that the longer run had after k iterations.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import manifold
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import classification_report
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, RepeatedKFold, cross_val_score
from sklearn.neural_network import BernoulliRBM, MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tests.frameworks.recording import recorded


def boosting() -> None:
    x, y = load_diabetes(return_X_y=True)
    with recorded("sklearn_boosting", "scikit-learn") as recording:
        model = GradientBoostingRegressor(n_estimators=60, subsample=0.6, random_state=3, verbose=1).fit(x, y)
        for step in [*range(1, 11), *range(20, 61, 10)]:
            recording.point("Train Loss", model.train_score_[step - 1], step=step, form=".4f")
            recording.point("OOB Improve", model.oob_improvement_[step - 1], step=step, form=".4f")

    with recorded("sklearn_hist_boosting", "scikit-learn", optional="Time spent*", why="times") as recording:
        x, y = load_breast_cancer(return_X_y=True)
        model = HistGradientBoostingClassifier(
            max_iter=20, max_leaf_nodes=8, early_stopping=True, scoring="loss", verbose=2, random_state=1
        ).fit(x, y)
        for step in range(1, model.n_iter_ + 1):
            recording.point("train loss", -model.train_score_[step], step=step, form=".5f")
            recording.point("val loss", -model.validation_score_[step], step=step, form=".5f")


def networks() -> None:
    x, y = load_digits(return_X_y=True)
    with recorded("sklearn_mlp", "scikit-learn") as recording:
        model = MLPClassifier((32,), max_iter=25, early_stopping=True, random_state=7, verbose=True).fit(x / 16, y)
        for step, (loss, score) in enumerate(zip(model.loss_curve_, model.validation_scores_, strict=True), 1):
            recording.point("loss", loss, step=step, form=".8f")
            recording.point("Validation score", score, step=step, form="f")

    class Noted(BernoulliRBM):
        def score_samples(self, X):
            scores = super().score_samples(X)
            values.append(scores.mean())
            return scores

    values: list[float] = []
    with recorded("sklearn_rbm", "scikit-learn", optional="time", why="seconds of an iteration") as recording:
        Noted(n_components=16, learning_rate=0.05, n_iter=12, random_state=4, verbose=True).fit(x / 16)
        for step, value in enumerate(values, 1):
            recording.point("pseudo-likelihood", value, step=step, form=".2f")


def linear() -> None:
    x, y = load_diabetes(return_X_y=True)
    x, y = StandardScaler().fit_transform(x), (y - y.mean()) / y.std()
    with recorded("sklearn_sgd", "scikit-learn", optional="Avg. loss", why="in no API") as recording:
        SGDRegressor(max_iter=12, tol=None, random_state=5, verbose=1).fit(x, y)
        for epoch in range(1, 13):
            model = SGDRegressor(max_iter=epoch, tol=None, random_state=5).fit(x, y)
            recording.point("Norm", np.linalg.norm(model.coef_), epoch=epoch, form=".2f")
            recording.point("Bias", model.intercept_[0], epoch=epoch, form=".6f")


def unsupervised() -> None:
    x, _ = load_digits(return_X_y=True)
    with recorded("sklearn_kmeans", "scikit-learn") as recording:
        start = x[:12].copy()
        model = KMeans(12, init=start, n_init=1, max_iter=40, verbose=1, random_state=0).fit(x)
        distances = ((x[:, None, :] - start[None]) ** 2).sum(axis=2).min(axis=1).sum()
        recording.point("inertia", distances, step=0, form="")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in range(1, model.n_iter_):
                recording.point("inertia", KMeans(12, init=start, n_init=1, max_iter=step).fit(x).inertia_, step=step)

    with recorded("sklearn_mixture", "scikit-learn") as recording:
        settings = {"n_components": 4, "tol": 1e-3, "random_state": 11}
        model = GaussianMixture(max_iter=200, verbose=2, verbose_interval=2, **settings).fit(load_wine().data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds = [-np.inf]
            for steps in range(1, model.n_iter_ + 1):
                bounds.append(GaussianMixture(max_iter=steps, **settings).fit(load_wine().data).lower_bound_)
        for step in range(2, len(bounds), 2):
            recording.point("ll change", bounds[step] - bounds[step - 1], step=step, form=".5f")
        recording.point("lower bound", model.lower_bound_, form=".5f")

    class Topics(LatentDirichletAllocation):
        def _perplexity_precomp_distr(self, *args, **kwargs):
            found = super()._perplexity_precomp_distr(*args, **kwargs)
            values.append(found)
            return found

    values: list[float] = []
    with recorded("sklearn_lda", "scikit-learn") as recording:
        Topics(8, max_iter=9, evaluate_every=1, perp_tol=1e-9, verbose=1, random_state=2).fit(x)
        for step, value in enumerate(values[:9], 1):
            recording.point("perplexity", value, step=step, form=".4f")

    found: list[tuple[float, np.ndarray]] = []
    original = manifold._t_sne._kl_divergence_bh

    def noted(*args, **kwargs):
        error, grad = original(*args, **kwargs)
        found.append((error, grad))  # scaled in place before its norm is printed
        return error, grad

    manifold._t_sne._kl_divergence_bh = noted
    with recorded(
        "sklearn_tsne",
        "scikit-learn",
        optional="KL divergence",
        why="a summary that repeats the last error",
    ) as recording:
        manifold.TSNE(perplexity=20, max_iter=400, verbose=2, random_state=1, n_jobs=1).fit(load_iris().data)
        for step in range(50, len(found) + 1, 50):
            error, grad = found[step - 1]
            recording.point("error", error, step=step, form=".7f")
            recording.point("gradient norm", np.linalg.norm(grad), step=step, form=".7f")
    manifold._t_sne._kl_divergence_bh = original


def search() -> None:
    x, y = load_wine(return_X_y=True)
    with recorded("sklearn_grid_search", "scikit-learn") as recording:
        model = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.001, 0.01]}, cv=3, return_train_score=True, verbose=3)
        model.fit(x, y)
        for candidate in range(6):
            for fold in range(3):
                for name in ("train", "test"):
                    recording.point(name, model.cv_results_[f"split{fold}_{name}_score"][candidate], form=".3f")

    with recorded("sklearn_cross_validation", "scikit-learn", optional="elapsed", why="a time") as recording:
        forest = RandomForestClassifier(20, random_state=1, verbose=1)
        scores = cross_val_score(forest, x, y, cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=1), verbose=3)
        for score in scores:
            recording.point("test", score, form=".3f")
        print(f"mean accuracy: {scores.mean():.4f} +/- {scores.std():.4f}")
        recording.point("mean accuracy", scores.mean(), form=".4f", line=recording.at)
        forest.set_params(verbose=0).fit(x[::2], y[::2])
        guess = forest.predict(x[1::2])
        print(classification_report(y[1::2], guess, target_names=load_wine().target_names))
        report = classification_report(y[1::2], guess, output_dict=True)
        recording.point("accuracy", report["accuracy"], form=".2f")
        for average in ("macro avg", "weighted avg"):
            for name in ("precision", "recall", "f1-score"):
                recording.point(f"{average} {name}", report[average][name], form=".2f")


def main() -> None:
    boosting()
    networks()
    linear()
    unsupervised()
    search()


if __name__ == "__main__":
    main()

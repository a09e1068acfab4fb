"""Which framework trains here, told from what the process has imported already. Nothing is imported for it."""

from __future__ import annotations

from typing import Container, Optional

# (module, word), most special first: who uses Lightning has imported torch too, and boosting libraries import sklearn.
_MODULES = (
    ("lightning", "lightning"),
    ("pytorch_lightning", "lightning"),
    ("fastai", "fastai"),
    ("ultralytics", "ultralytics"),
    ("transformers.trainer", "transformers"),
    ("keras", "keras"),
    ("flax", "flax"),
    ("tensorflow", "tensorflow"),
    ("jax", "jax"),
    ("torch", "torch"),
    ("xgboost", "xgboost"),
    ("lightgbm", "lightgbm"),
    ("catboost", "catboost"),
    ("sklearn", "sklearn"),
)


def imported(modules: Container[str]) -> Optional[str]:
    """The framework among the names of imported modules (`sys.modules`), or None where there is none that we know."""
    return next((word for module, word in _MODULES if module in modules), None)

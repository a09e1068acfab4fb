"""Which framework a process uses: what was said, else what was imported, the most special first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import trainwire
from trainwire.framework import imported


@pytest.mark.parametrize(
    ("modules", "word"),
    [
        (["sys", "numpy"], None),
        (["torch"], "torch"),
        (["torch", "lightning", "sklearn"], "lightning"),
        (["torch", "pytorch_lightning"], "lightning"),
        (["torch", "transformers"], "torch"),  # a tokenizer is no trainer
        (["torch", "transformers", "transformers.trainer"], "transformers"),
        (["tensorflow", "keras"], "keras"),
        (["sklearn", "xgboost"], "xgboost"),
        (["sklearn", "lightgbm"], "lightgbm"),
        (["sklearn"], "sklearn"),
    ],
)
def test_the_most_special_of_what_was_imported(modules: list[str], word: str | None) -> None:
    assert imported(modules) == word


def header(folder: Path) -> dict[str, object]:
    (path,) = folder.glob("*.jsonl")
    record: dict[str, object] = json.loads(path.read_text("utf-8").splitlines()[0])
    return record


def test_the_header_names_what_was_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAINWIRE_FRAMEWORK", raising=False)
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    with trainwire.init("t-1", dir=str(tmp_path)):
        assert header(tmp_path)["framework"] == "lightning"


def test_what_was_said_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    monkeypatch.setenv("TRAINWIRE_FRAMEWORK", "ours")
    with trainwire.init("t-1", dir=str(tmp_path / "environment")):
        assert header(tmp_path / "environment")["framework"] == "ours"
    with trainwire.init("t-1", dir=str(tmp_path / "argument"), framework="mine") as run:
        assert header(tmp_path / "argument")["framework"] == "mine"
        assert run.identity.environment()["TRAINWIRE_FRAMEWORK"] == "mine"

"""The list of rules speaks of the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.rules import RULES, Rule

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_stands_in_its_file_and_its_test_exists(rule: Rule) -> None:
    for path, old, _ in rule.edits:
        assert old in (ROOT / path).read_text()
    path, name = rule.test.split("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_the_documentation_tells_each_rule_and_its_test() -> None:
    text = (ROOT / "docs" / "faults.md").read_text()
    told = re.findall(r"^\| (.+?) \| `(.+?)` \|$", text.partition("## Rules")[2], re.M)
    assert told == [(rule.name, rule.test.partition("::")[2].partition("[")[0]) for rule in RULES]


def test_every_test_that_the_documentation_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "faults.md").read_text()))
    written = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.M)
    }
    assert named - written == set()
    assert len(named) > 40

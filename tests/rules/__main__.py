"""`make rules`: take each rule of exactly-once out, in a copy of the tree, and see its tests fail."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from tests.rules.rules import RULES, Rule

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".venv", ".git", ".local", "node_modules", "__pycache__", ".*_cache", ".hypothesis")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rule", nargs="*", help="a part of the names of the rules to try (default: all)")
    asked = parser.parse_args().rule
    kept = 0
    with tempfile.TemporaryDirectory(prefix="trainwire-rules-") as folder:
        stack = Stack(Path(folder) / "stack", LocalSettings())
        stack.start(tied=True)
        try:
            copy = Path(folder) / "tree"
            shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
            for rule in RULES:
                if asked and not any(text in rule.name for text in asked):
                    continue
                failed = _fails_without(rule, copy, stack)
                print(f"{'fails' if failed else 'PASSES'} without it: {rule.name}", flush=True)
                kept += not failed
        finally:
            stack.stop()
    return 1 if kept else 0


def _fails_without(rule: Rule, copy: Path, stack: Stack) -> bool:
    """Whether the rule's test fails without it, by an assertion of its own, and passes with it."""
    if _run(rule.test, copy, stack) != 0:
        print(f"{rule.test} fails even with the rule")
        return False
    kept = {path: (copy / path).read_text() for path, _, _ in rule.edits}
    for path, old, new in rule.edits:
        (copy / path).write_text((copy / path).read_text().replace(old, new))
    try:
        return _run(rule.test, copy, stack) == 1
    finally:
        for path, text in kept.items():
            (copy / path).write_text(text)


def _run(test: str, copy: Path, stack: Stack) -> int:
    """pytest's exit code: 1 is a failed test; others are faults of the call."""
    logins = {f"TRAINWIRE_TEST_{user.upper()}": f"{user}:{stack.password(user)}" for user in ("writer", "viewer")}
    addresses = {"TRAINWIRE_TEST_KAFKA": stack.bootstrap, "TRAINWIRE_TEST_CLICKHOUSE": stack.clickhouse_url}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    environ = os.environ | logins | addresses | {"PYTHONPATH": str(copy)}
    return subprocess.run(command, cwd=copy, env=environ, stdout=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())

"""Every program and command says what it is for when asked, and does nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.main import root

TOP = Path(__file__).parents[2]
SCRIPTS = sorted(tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["scripts"])
MODULES = ["deploy.demo", "tests.chaos", "tests.rules"] + [
    f"bench.{file.stem}" for file in sorted((TOP / "bench").glob("*.py")) if "def main" in file.read_text()
]
PROGRAMS = [[str(Path(sys.executable).with_name(name))] for name in SCRIPTS] + [[sys.executable, "-m", name] for name in MODULES]


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*words, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[-1].rpartition("/")[2])
def test_a_program_tells_its_use_and_refuses_an_unknown_option(program: list[str], tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(TOP)}
    asked = subprocess.run([*program, "--help"], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "usage" in asked.stdout.lower()
    if program[-1].endswith(("-shipper", "-worker", "-gateway")):
        assert asked.stdout.count("| `TRAINWIRE_") > 10  # what it takes from the environment
    wrong = subprocess.run([*program, "--no-such-option"], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert wrong.returncode == 2
    assert "usage" in wrong.stderr.lower()
    assert "Traceback" not in wrong.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", list(commands(root)), ids=" ".join)
def test_a_command_tells_its_use(words: tuple[str, ...]) -> None:
    asked = CliRunner().invoke(root, [*words, "--help"])
    assert asked.exit_code == 0
    told = [line for line in asked.output.splitlines() if line.strip()]
    assert told[0].startswith("Usage: ")
    assert len(told[1].strip()) > 20  # what it is for

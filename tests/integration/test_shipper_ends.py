"""The shipper ends when the training has, however that ended: a Job completes, and nothing that was written is left behind."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from schemas.events import Delta, FileEnd
from tests.integration.test_shipper_process import Program, Topic, events, program
from tests.unit.shipper.harness import stored

__all__ = ["events", "program"]
pytestmark = pytest.mark.services


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "kill -9 $$"], ids=["success", "failure", "killed"])
def test_b15_it_ends_with_the_training_however_that_ends(
    program: Program, events: Topic, tmp_path: pathlib.Path, end: str
) -> None:
    log = tmp_path / "a.log"
    training = subprocess.Popen(["sh", "-c", f"echo loss=1 >> {log}; sleep 2; printf 'loss=0.5' >> {log}; {end}"])
    shipper = program.start("--until-exit", str(training.pid))
    training.wait()
    assert shipper.wait(60) == 0
    seen = events.until(lambda seen: any(isinstance(event, FileEnd) for event in seen))
    assert list(stored([event for event in seen if isinstance(event, Delta)]).values()) == [b"loss=1\nloss=0.5"]


def test_b15_a_training_that_was_over_before_and_never_wrote_holds_nobody(program: Program) -> None:
    training = subprocess.Popen(["true"])
    training.wait()
    assert program.start("--until-exit", str(training.pid)).wait(60) == 0


def test_b15_its_own_words_are_not_followed(program: Program, events: Topic, tmp_path: pathlib.Path) -> None:
    """A pattern that matches everything in the folder, the shipper's own state included."""
    program.environ["TRAINWIRE_LOGS"] = str(tmp_path / "**")
    log = tmp_path / "a.log"
    training = subprocess.Popen(["sh", "-c", f"echo loss=1 >> {log}; sleep 3"])
    shipper = program.start("--until-exit", str(training.pid))
    training.wait()
    assert shipper.wait(60) == 0
    seen = events.until(lambda seen: any(isinstance(event, FileEnd) for event in seen))
    assert {event.file.path for event in seen if isinstance(event, Delta)} == {str(log)}

"""What makes a file the same file, each rule on its own: these fail when only that rule is taken out."""

from __future__ import annotations

import os
import pathlib

import pytest

from producers.shipper import checkpoint
from tests.unit.shipper.harness import Rig, numbered, write

HEADER = "".join(f"# configuration {n}: the same for every start of one codebase\n" for n in range(100))  # over 4 KiB


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Rig:
    return Rig(tmp_path)


def test_b03_a_save_while_the_broker_is_away_keeps_the_position_that_was_acknowledged(rig: Rig, tmp_path: pathlib.Path) -> None:
    log, other = tmp_path / "a.log", tmp_path / "b.log"
    write(log, numbered(1, 10))
    write(other, numbered(1, 10, "other"))
    rig.run()
    acknowledged = log.stat().st_size
    rig.sink.away = True
    write(log, numbered(11, 5000))
    rig.run()
    other.rename(tmp_path / "b.log.1")  # reason enough for a save
    rig.run(5)
    saved = {entry.ref.path: entry.position.offset for entry in checkpoint.decode(rig.checkpoints()[0].read_bytes()).entries}
    assert saved[str(log)] == acknowledged
    rig.restart()
    rig.sink.away = False
    rig.run(3)
    assert rig.texts() == sorted([numbered(1, 5000), numbered(1, 10, "other")])


@pytest.mark.parametrize("restart", [False, True])
def test_b06_starts_that_say_the_same_for_4_kib_and_longer_are_told_apart(
    rig: Rig, tmp_path: pathlib.Path, restart: bool
) -> None:
    """Truncated and written anew to a greater length between two looks: inode, path and first 4 KiB are as before."""
    log = tmp_path / "a.log"
    write(log, HEADER + numbered(1, 100, "first"))
    rig.run(3)
    if restart:
        rig.kill()
    os.truncate(log, 0)
    write(log, HEADER + numbered(1, 200, "second"))
    if restart:
        rig.start()
    rig.run(5)
    assert rig.texts() == sorted([HEADER + numbered(1, 100, "first"), HEADER + numbered(1, 200, "second")])

"""A log file under a disk that takes only so many bytes (RLIMIT_FSIZE stands for it: the kernel cuts the write there)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from trainwire.files import LogFile, create

from tests.unit.sdk.disk import file_limit


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogFile]:
    path, fd, number = create(tmp_path / "deep" / "er", "t", ".jsonl", 1)
    file = LogFile(path, fd, "uuid", number)
    yield file
    file.close()


RECORDS = [b"one\n", b"two two\n", b"three three three\n", b"4\n"]


@pytest.mark.parametrize("limit", range(32))
def test_wherever_the_disk_ends_the_records_come_whole_and_once(log: LogFile, limit: int) -> None:
    left = list(RECORDS)
    with file_limit(limit):
        begun = log.append(left)
    del left[:begun]
    assert log.torn == (limit not in (0, 4, 12, 30))
    assert log.error is not None
    assert log.append(left) == len(left)
    assert not log.torn
    assert log.path.read_bytes() == b"".join(RECORDS)


def test_nothing_comes_between_the_parts_of_a_begun_record(log: LogFile) -> None:
    with file_limit(6):
        assert log.append(RECORDS) == 2
        assert log.append([b"next\n"]) == 0
        assert not log.settle()
    assert log.append([b"next\n"]) == 1
    assert log.path.read_bytes() == b"one\ntwo two\nnext\n"


def test_a_taken_number_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "t.1.jsonl").write_text("a stranger's\n")
    (tmp_path / "t.2.jsonl").symlink_to(tmp_path / "elsewhere")
    path, fd, number = create(tmp_path, "t", ".jsonl", 1)
    os.close(fd)
    assert (path.name, number) == ("t.3.jsonl", 3)
    assert (tmp_path / "t.1.jsonl").read_text() == "a stranger's\n"


def test_a_deleted_file_is_noticed(log: LogFile) -> None:
    assert not log.gone()
    log.path.unlink()
    assert log.gone()


def test_a_descriptor_that_became_somebody_elses_is_noticed_and_left_alone(log: LogFile, tmp_path: Path) -> None:
    number = log._fd
    os.close(number)
    assert log.gone()
    other = os.open(tmp_path / "checkpoint.pt", os.O_RDWR | os.O_CREAT)
    os.dup2(other, number)
    assert log.gone()
    log.close()
    os.fstat(number)  # still open
    os.close(number)
    if other != number:
        os.close(other)

"""Container log formats and event files, from real bytes to deltas (framing itself: tests/unit/schemas)."""

from __future__ import annotations

import pathlib
import struct

import crc32c
import pytest

from schemas.framing import RECORD_LIMIT, frame
from tests.unit.shipper.harness import Rig, stored, write


def record(data: bytes) -> bytes:
    """A TFRecord as TensorFlow writes it."""

    def masked(part: bytes) -> bytes:
        value = crc32c.crc32c(part)
        return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Rig:
    return Rig(tmp_path, LOGS=str(tmp_path / "**" / "*"))


def test_b59_cri_parts_stay_together(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "0.log"
    stamp = "2026-01-31T10:00:00.123456789Z"
    write(log, f"{stamp} stdout F first\n")
    rig.run(1)
    write(log, f"{stamp} stdout P " + "a" * 16_000 + "\n")
    rig.run(1)
    write(log, f"{stamp} stderr F between\n{stamp} stdout P " + "b" * 16_000 + "\n")
    rig.run(1)
    assert len(rig.sink.deltas()) == 1, "a delta never ends while a stream has an open part"
    write(log, f"{stamp} stdout F end\n{stamp} stdout P orphan\n")
    rig.run(1)
    rig.shipper.leave("container-ended", rig.now)
    rig.run(1)
    assert list(stored(rig.sink.deltas()).values()) == [log.read_bytes()]
    texts = []
    for delta in rig.sink.deltas():
        assert delta.container == "cri"
        lines = frame(delta.value, delta.start, delta.container, continuation=delta.continuation)
        assert lines.streams is not None
        texts += list(zip(lines.streams, lines.texts, strict=True))
    joined = "a" * 16_000 + "b" * 16_000 + "end"
    assert texts == [("stdout", "first"), ("stderr", "between"), ("stdout", joined), ("stdout", "orphan")]
    assert rig.shipper.finished()


def test_records_whole_long_and_half(rig: Rig, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    parts = [record(b"%d" % n * 50) for n in range(3000)]
    long = record(b"x" * (RECORD_LIMIT + 1))
    content = b"".join([*parts, long, record(b"end")])
    for first in range(0, len(content), 100_001):
        write(path, content[first : first + 100_001])
        rig.run(0.2)
    rig.run(1)
    deltas = rig.sink.deltas()
    assert [delta.container for delta in deltas] == ["tfevents"] * len(deltas)
    assert [delta.start for delta in deltas[1:]] == [delta.end for delta in deltas[:-1]]
    assert deltas[-1].end == len(content)
    (elided,) = [delta for delta in deltas if delta.elided]
    assert elided.value == long[:12]
    assert elided.end - elided.start == len(long)
    got = [item for delta in deltas if not delta.elided for item in frame(delta.value, delta.start, "tfevents").records or []]
    assert got == [*parts, record(b"end")]
    assert rig.metrics.value("shipper_long_lines_total") == 1
    rig.restart()
    rig.run(2)
    assert len(rig.sink.deltas()) == len(deltas)


def test_a_damaged_record_ends_the_file_and_no_other(rig: Rig, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "events.out.tfevents.1"
    good = record(b"a") + record(b"b")
    damaged = bytearray(record(b"c"))
    damaged[0] ^= 1
    write(path, good + bytes(damaged) + record(b"d"))
    write(tmp_path / "a.log", "fine\n")
    rig.run(5)
    assert sorted(stored(rig.sink.deltas()).values()) == sorted([good, b"fine\n"])
    (end,) = rig.sink.ends()
    assert (end.reason, end.offset, end.known) == ("damaged", len(good), False)
    assert f"damaged at byte {len(good)}" in caplog.text
    assert rig.metrics.value("shipper_file_errors_total", reason="damaged") == 1

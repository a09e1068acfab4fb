"""Event files, read by TensorBoard's own reader; and the feed's place, kept over kills."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gateway.viewers.feeds import event_files

loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")


def test_tensorboards_own_reader_reads_what_was_written(tmp_path: Path) -> None:
    points = [(1.5, 0, 0.25), (2.5, 1, math.nan), (3.5, 2, math.inf), (4.5, 10**12, -math.inf), (5.5, 3, 1e300), (6.5, -1, -0.0)]
    file = tmp_path / "events.out.tfevents.0.test"
    file.write_bytes(
        event_files.head(1.0)
        + event_files.scalars("loss/δ", points)
        + event_files.text("parameters", 2.0, "| a | b |")
        + event_files.scalars("x" * 300, [(1.0, 0, 1.0)])
    )
    events = list(loader.RawEventFileLoader(str(file)).Load())
    from tensorboard.compat.proto.event_pb2 import Event

    read = [Event.FromString(raw) for raw in events]
    assert read[0].file_version == "brain.Event:2"
    shown = [(event.wall_time, event.step, event.summary.value[0].simple_value) for event in read[1:7]]
    assert {event.summary.value[0].tag for event in read[1:7]} == {"loss/δ"}
    expected = [*points[:4], (5.5, 3, math.inf), points[5]]  # beyond the largest single
    for (wall, step, value), (wall_read, step_read, value_read) in zip(expected, shown, strict=True):
        assert (wall, step) == (wall_read, step_read)
        assert value_read == pytest.approx(value, nan_ok=True)
    text = read[7].summary.value[0]
    assert (text.tag, text.metadata.plugin_data.plugin_name) == ("parameters", "text")
    assert text.tensor.string_val[0] == b"| a | b |"
    assert read[8].summary.value[0].tag == "x" * 300

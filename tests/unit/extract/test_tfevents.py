"""Event files: written by TensorBoard's own writer, read by ours."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from schemas.framing import frame
from stream_jobs.extract import Events, Points, State, extract

protos = pytest.importorskip("tensorboard.compat.proto")

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2  # noqa: E402
from tensorboard.plugins.text import metadata as text_metadata  # noqa: E402
from tensorboard.summary.writer.event_file_writer import EventFileWriter  # noqa: E402


def written(folder: Path, *events: event_pb2.Event) -> bytes:
    writer = EventFileWriter(str(folder))
    for event in events:
        writer.add_event(event)
    writer.close()
    (path,) = folder.glob("*tfevents*")
    return path.read_bytes()


def simple(step: int, wall: float = 1_760_000_000.5, **values: float) -> event_pb2.Event:
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=k, simple_value=v) for k, v in values.items()])
    return event_pb2.Event(wall_time=wall, step=step, summary=summary)


def tensor(step: int, tag: str, value: tensor_pb2.TensorProto, plugin: str = "scalars") -> event_pb2.Event:
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin))
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, tensor=value, metadata=metadata)])
    return event_pb2.Event(wall_time=1_760_000_000.0, step=step, summary=summary)


def read(data: bytes) -> tuple[Points, Events]:
    _, points, events = extract(State(), frame(data, 0, "tfevents"))
    return points, events


def test_simple_values_are_points(tmp_path: Path) -> None:
    points, events = read(written(tmp_path, simple(3, loss=0.5, acc=0.25), simple(4, loss=math.nan)))
    assert points.name == ["loss", "acc", "loss"]
    assert points.value[:2] == [0.5, 0.25]
    assert math.isnan(points.value[2])
    assert points.step == [3, 3, 4]
    assert points.time == [1_760_000_000_500] * 3
    assert points.index == [0, 1, 0]
    assert points.source == ["tfevents"] * 3
    assert events.kind == ["non_finite"]


@pytest.mark.parametrize(
    ("proto", "value"),
    [
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[0.5]), 0.5),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_DOUBLE, double_val=[1e-300]), 1e-300),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_INT64, int64_val=[-7]), -7.0),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_INT32, int_val=[7]), 7.0),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_content=struct.pack("<f", 2.5)), 2.5),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_HALF, half_val=[0x3800]), 0.5),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_BFLOAT16, half_val=[0x3F00]), 0.5),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT), 0.0),
    ],
)
def test_tensors_without_dimensions_are_points(tmp_path: Path, proto: tensor_pb2.TensorProto, value: float) -> None:
    points, _ = read(written(tmp_path, tensor(1, "loss", proto)))
    assert (points.name, points.value, points.step) == (["loss"], [value], [1])


def test_other_tensors_are_none(tmp_path: Path) -> None:
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=2)])
    vector = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[1, 2], tensor_shape=shape)
    points, events = read(written(tmp_path, tensor(1, "weights", vector, "histograms")))
    assert len(points) == len(events) == 0


def test_texts_are_events(tmp_path: Path) -> None:
    text = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"hello"])
    points, events = read(written(tmp_path, tensor(2, "note", text, text_metadata.PLUGIN_NAME)))
    assert len(points) == 0
    assert (events.kind, events.message, events.fields) == (["text"], ["hello"], [{"tag": "note"}])


def test_a_wrong_byte_ends_the_file(tmp_path: Path) -> None:
    data = bytearray(written(tmp_path, simple(1, loss=1.0), simple(2, loss=2.0), simple(3, loss=3.0)))
    lines = frame(bytes(data), 0, "tfevents")
    assert lines.records is not None
    data[lines.offsets[2] + 14] ^= 1  # inside the data of the second summary; the first record is the file's version
    points, events = read(bytes(data))
    assert points.value == [1.0]
    assert events.kind == ["damaged"]
    assert events.line == [2]


def test_damage_is_remembered_between_deltas(tmp_path: Path) -> None:
    data = written(tmp_path, simple(1, loss=1.0))
    state, _, _ = extract(State(), frame(b"\x01" * 40, 0, "tfevents"))
    assert state.damaged
    _, points, _ = extract(State.load(state.dump()), frame(data, 0, "tfevents"))
    assert len(points) == 0


def test_an_elided_record_is_counted(tmp_path: Path) -> None:
    data = written(tmp_path, simple(1, loss=1.0))
    header = struct.pack("<QI", 2 << 20, 0)
    first = frame(data, 0, "tfevents")
    first.records = [header, *(first.records or [])]
    first.offsets, first.ends, first.texts = [0, *first.offsets], [0, *first.ends], ["", *first.texts]
    _, points, events = extract(State(), first)
    assert points.value == [1.0]
    assert (events.kind, events.fields) == (["record_too_long"], [{"records": "1"}])

"""TensorBoard event files: whole TFRecords in, scalars as points and texts as events out.

Record: u64 length, u32 masked CRC of it, data, u32 masked CRC of that (TensorFlow's record_writer). Data: an `Event`
(event.proto): wall_time 1, step 2, file_version 3, summary 5. `Summary.Value` (summary.proto): tag 1, simple_value 2,
tensor 8, metadata 9 with plugin_data 1 and its plugin_name 1. `TensorProto`: dtype 1, shape 2 with dims 2, content 4,
half 13, float 5, double 6, int 7, string 8, int64 10. A scalar is a simple_value, or a tensor without dimensions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from stream_jobs.extract import protobuf
from stream_jobs.extract.crc import masked
from stream_jobs.extract.protobuf import BYTES, FIXED32, FIXED64
from stream_jobs.extract.rows import Events, Points

HEADER, OVERHEAD = 12, 16
_TEXT = 1000  # characters of a text that an event keeps
_FORMATS = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e", 4: "<B", 6: "<b", 5: "<h"}  # DataType: how its content is packed
_STRING = 7


@dataclass(slots=True)
class Tensor:
    dtype: int = 0
    rank: int = 0
    content: bytes = b""
    number: float | None = None
    strings: tuple[bytes, ...] = ()


def read_record(record: bytes, line: int, points: Points, events: Events, name_characters: int, most: int) -> bool:
    """Read one record; False where it is damaged, with an event that says how: nothing behind it can be trusted."""
    reason = _damage(record)
    if reason is None:
        try:
            _event(record[HEADER:-4], line, points, events, name_characters, most)
        except protobuf.Damaged as error:
            reason = str(error)
    if reason is None:
        return True
    events.add(line, "damaged", None, f"the event file ends here for reading: {reason}", {"reason": reason})
    return False


def is_elided(record: bytes) -> bool:
    """Only the header of a record that was too long to be sent."""
    return len(record) == HEADER and struct.unpack_from("<Q", record)[0] > 0


def _damage(record: bytes) -> str | None:
    if len(record) < HEADER:
        return "a record's header is cut"
    length, check = struct.unpack_from("<QI", record)
    if masked(record[:8]) != check:
        return "the checksum of a record's length is wrong"
    if len(record) != length + OVERHEAD:
        return "a record is cut"
    if masked(record[HEADER:-4]) != struct.unpack_from("<I", record, len(record) - 4)[0]:
        return "the checksum of a record is wrong"
    return None


def _event(data: bytes, line: int, points: Points, events: Events, name_characters: int, most: int) -> None:
    wall, step, summaries = 0.0, 0, []
    for number, kind, value in protobuf.fields(data):
        if number == 1 and kind == FIXED64 and isinstance(value, bytes):
            wall = protobuf.float64(value)
        elif number == 2 and isinstance(value, int):
            step = protobuf.signed(value)
        elif number == 5 and kind == BYTES and isinstance(value, bytes):
            summaries.append(value)
    time = int(wall * 1000) if 631152000 <= wall < 4102444800 else None
    names: list[str] = []
    values: list[float] = []
    for summary in summaries:
        for number, kind, value in protobuf.fields(summary):
            if number != 1 or kind != BYTES or not isinstance(value, bytes):
                continue
            tag, scalar, text = _value(value)
            if text is not None:
                events.add(line, "text", time, text[:_TEXT], {"tag": tag[:name_characters]}, step, None)
            elif scalar is not None and tag:
                names.append(tag[:name_characters])
                values.append(scalar)
    if names:
        points.add(line, tuple(names[:most]), values[:most], step, None, time, "tfevents")
    if len(names) > most:
        events.add(line, "too_many_points", time, "", {"points": str(len(names))}, step, None)


def _value(data: bytes) -> tuple[str, float | None, str | None]:
    """Tag, scalar or None, text or None of a Summary.Value."""
    tag, scalar, plugin = "", None, ""
    tensor: Tensor | None = None
    for number, kind, value in protobuf.fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 1 and kind == BYTES:
            tag = value.decode("utf-8", "replace")
        elif number == 2 and kind == FIXED32:
            scalar = protobuf.float32(value)
        elif number == 8 and kind == BYTES:
            tensor = _tensor(value)
        elif number == 9 and kind == BYTES:
            plugin = _plugin(value)
    if tensor is not None:
        if tensor.dtype == _STRING and tensor.strings and plugin in ("text", ""):
            return tag, None, b"\n".join(tensor.strings).decode("utf-8", "replace")
        if tensor.rank == 0 and plugin in ("scalars", ""):
            return tag, _scalar(tensor), None
        return tag, None, None
    return tag, scalar, None


def _plugin(data: bytes) -> str:
    for number, _, value in protobuf.fields(data):
        if number == 1 and isinstance(value, bytes):
            for inner, _, name in protobuf.fields(value):
                if inner == 1 and isinstance(name, bytes):
                    return name.decode("utf-8", "replace")
    return ""


def _tensor(data: bytes) -> Tensor:
    tensor = Tensor()
    strings: list[bytes] = []
    for number, kind, value in protobuf.fields(data):
        if number == 1 and isinstance(value, int):
            tensor.dtype = value
        elif number == 2 and isinstance(value, bytes):
            tensor.rank = sum(inner == 2 for inner, _, _ in protobuf.fields(value))
        elif number == 4 and isinstance(value, bytes):
            tensor.content = value
        elif number == 5 and isinstance(value, bytes) and len(value) >= 4:  # packed or not: the first one is the scalar
            tensor.number = protobuf.float32(value[:4])
        elif number == 6 and isinstance(value, bytes) and len(value) >= 8:
            tensor.number = protobuf.float64(value[:8])
        elif number in (7, 10):
            first = value if isinstance(value, int) else protobuf.varint(value, 0)[0] if value else 0
            tensor.number = float(protobuf.signed(first))
        elif number == 13:
            first = value if isinstance(value, int) else protobuf.varint(value, 0)[0] if value else 0
            tensor.number = _half(first, tensor.dtype)
        elif number == 8 and kind == BYTES and isinstance(value, bytes):
            strings.append(value)
    tensor.strings = tuple(strings)
    return tensor


def _half(bits: int, dtype: int) -> float | None:
    """Half floats travel as integers: 19 is IEEE's, 14 is bfloat16, the upper half of a float."""
    if dtype == 14:
        return float(struct.unpack("<f", struct.pack("<I", (bits & 0xFFFF) << 16))[0])
    return float(struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0])


def _scalar(tensor: Tensor) -> float | None:
    if tensor.number is not None:
        return tensor.number
    form = _FORMATS.get(tensor.dtype)
    if form is None:
        return None
    if tensor.content:
        size = struct.calcsize(form)
        return float(struct.unpack(form, tensor.content[:size])[0]) if len(tensor.content) >= size else None
    return 0.0  # protobuf leaves zeros out

"""TensorBoard's event files: records framed as TFRecord, each a protobuf `Event`, written by hand: the form is twenty lines.

Sources of the format: tensorboard/compat/proto/{event,summary,tensor}.proto and tensorboard/summary/writer/record_writer.py.
A record: length (uint64, little endian), masked CRC-32C of it, data, masked CRC-32C of the data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from crc32c import crc32c

_MASK = 0xA282EAD8
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types of protobuf

# Event: 1 wall_time double, 2 step int64, 3 file_version string, 5 summary. Summary: 1 value. Value: 1 tag, 2 simple_value
# float, 8 tensor, 9 metadata. SummaryMetadata: 1 plugin_data {1 plugin_name}. TensorProto: 1 dtype (7 string), 8 string_val.
VERSION = "brain.Event:2"


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def head(time: float) -> bytes:
    """The first record of every event file."""
    return framed(_wall_time(time) + _bytes(3, VERSION.encode()))


def scalars(tag: str, points: Iterable[tuple[float, int, float]]) -> bytes:
    """Records of one curve's points (wall time in seconds, step, value): 32-bit floats, as TensorBoard stores them."""
    name = _bytes(1, tag.encode())
    return b"".join(
        framed(_wall_time(time) + b"\x10" + _varint(step) + _bytes(5, _bytes(1, name + b"\x15" + _single(value))))
        for time, step, value in points
    )


def text(tag: str, time: float, markdown: str) -> bytes:
    """A record of the text dashboard."""
    tensor = b"\x08\x07" + _bytes(2, b"") + _bytes(8, markdown.encode())  # a string, of no dimension
    metadata = _bytes(1, _bytes(1, b"text"))
    return framed(
        _wall_time(time) + b"\x10\x00" + _bytes(5, _bytes(1, _bytes(1, tag.encode()) + _bytes(8, tensor) + _bytes(9, metadata)))
    )


def _single(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # finite as a double, beyond the largest single
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _wall_time(time: float) -> bytes:
    return bytes([1 << 3 | _DOUBLE]) + struct.pack("<d", time)


def _bytes(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | _BYTES]) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative ones in two's complement, as int64 goes
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF)

"""As much of protobuf's wire format as an event file needs: fields of a message, one after the other.

Source: protobuf's encoding guide. Unknown fields are skipped; a message that ends in the middle of a field is damaged.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Damaged(ValueError):
    """The bytes are no message."""


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, wire type, value) of each field; a value is an integer, or its bytes as they stand."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise Damaged(f"wire type {kind}")
        if at + size > end:
            raise Damaged("a field goes beyond its message")
        yield number, kind, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged("a number without end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value: int) -> int:
    """A varint of type int64 as the number that it stands for."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def float32(data: bytes) -> float:
    return float(struct.unpack("<f", data)[0])


def float64(data: bytes) -> float:
    return float(struct.unpack("<d", data)[0])

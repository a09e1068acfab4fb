"""CityHash128 as ClickHouse checksums its compressed blocks: Google's version 1.0.2, which later ones changed."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MUL = 0x9DDFEA08EB382D69
_Q = struct.Struct("<Q").unpack_from
_QQ = struct.Struct("<QQ").unpack_from
_QQQQ = struct.Struct("<4Q").unpack_from


def cityhash128(data: bytes) -> bytes:
    """16 bytes, low half first, each half little-endian: the order in which ClickHouse writes them."""
    size = len(data)
    if size >= 16:
        low, high = _QQ(data)
        result = _seeded(data[16:], low ^ _K3, high)
    elif size >= 8:
        seed = _Q(data)[0] ^ (size * _K0 & _MASK), _Q(data, size - 8)[0] ^ _K1
        result = _seeded(b"", *seed)
    else:
        result = _seeded(data, _K0, _K1)
    return struct.pack("<QQ", *result)


def _rotate(value: int, by: int) -> int:
    return (value >> by | value << (64 - by)) & _MASK if by else value


def _mix(value: int) -> int:
    return value ^ value >> 47


def _len16(u: int, v: int) -> int:
    a = (u ^ v) * _MUL & _MASK
    a ^= a >> 47
    b = (v ^ a) * _MUL & _MASK
    b ^= b >> 47
    return b * _MUL & _MASK


def _len0to16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        a, b = int.from_bytes(data[:8], "little"), int.from_bytes(data[-8:], "little")
        return _len16(a, _rotate((b + size) & _MASK, size)) ^ b
    if size >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        return _len16(size + (first << 3), last)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return _mix(y * _K2 & _MASK ^ z * _K3 & _MASK) * _K2 & _MASK
    return _K2


def _weak32(w: int, x: int, y: int, z: int, a: int, b: int) -> tuple[int, int]:
    a = a + w & _MASK
    b = _rotate(b + a + z & _MASK, 21)
    c = a
    a = a + x + y & _MASK
    b = b + _rotate(a, 44) & _MASK
    return a + z & _MASK, b + c & _MASK


def _murmur(data: bytes, low: int, high: int) -> tuple[int, int]:
    """Less than 128 bytes."""
    a, b, size = low, high, len(data)
    if size <= 16:
        a = _mix(a * _K1 & _MASK) * _K1 & _MASK
        c = b * _K1 + _len0to16(data) & _MASK
        d = _mix(a + (_Q(data)[0] if size >= 8 else c) & _MASK)
    else:
        c = _len16(_Q(data, size - 8)[0] + _K1 & _MASK, a)
        d = _len16(b + size & _MASK, c + _Q(data, size - 16)[0] & _MASK)
        a = a + d & _MASK
        for position in range(0, size - 16, 16):
            first, second = _QQ(data, position)
            a = (a ^ _mix(first * _K1 & _MASK) * _K1 & _MASK) * _K1 & _MASK
            b ^= a
            c = (c ^ _mix(second * _K1 & _MASK) * _K1 & _MASK) * _K1 & _MASK
            d ^= c
    a, b = _len16(a, c), _len16(d, b)
    return a ^ b, _len16(b, a)


def _seeded(data: bytes, low: int, high: int) -> tuple[int, int]:
    size = len(data)
    if size < 128:
        return _murmur(data, low, high)
    x, y, z = low, high, size * _K1 & _MASK
    d0, d1 = _QQ(data)
    v0 = _rotate(y ^ _K1, 49) * _K1 + d0 & _MASK
    v1 = _rotate(v0, 42) * _K1 + d1 & _MASK
    w0 = _rotate(y + z & _MASK, 35) * _K1 + x & _MASK
    w1 = _rotate(x + _Q(data, 88)[0] & _MASK, 53) * _K1 & _MASK
    whole = size - size % 128
    for position in range(0, whole, 64):
        a0, a1, a2, a3 = _QQQQ(data, position)
        b0, b1, b2, b3 = _QQQQ(data, position + 32)
        x = _rotate(x + y + v0 + a2 & _MASK, 37) * _K1 & _MASK
        y = _rotate(y + v1 + b2 & _MASK, 42) * _K1 & _MASK
        x ^= w1
        y ^= v0
        z = _rotate(z ^ w0, 33)
        v0, v1 = _weak32(a0, a1, a2, a3, v1 * _K1 & _MASK, x + w0 & _MASK)
        w0, w1 = _weak32(b0, b1, b2, b3, z + w1 & _MASK, y)
        z, x = x, z
    y = y + _rotate(w0, 37) * _K0 + z & _MASK
    x = x + _rotate(v0 + z & _MASK, 49) * _K0 & _MASK
    left, done = size - whole, 0
    while done < left:
        done += 32
        start = size - done  # the last steps may reach back into what was hashed already
        e0, e1, e2, e3 = _QQQQ(data, start)
        y = _rotate(y - x & _MASK, 42) * _K0 + v1 & _MASK
        w0 = w0 + e2 & _MASK
        x = _rotate(x, 49) * _K0 + w0 & _MASK
        w0 = w0 + v0 & _MASK
        v0, v1 = _weak32(e0, e1, e2, e3, v0, v1)
    x, y = _len16(x, v0), _len16(y, w0)
    return _len16(x + v1 & _MASK, w1) + y & _MASK, _len16(x + w1 & _MASK, y + v1 & _MASK)

"""The checksum of TFRecord files: CRC-32C, rotated and shifted, so that a checksum of checksums stays useful."""

from __future__ import annotations

from crc32c import crc32c


def masked(data: bytes) -> int:
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF

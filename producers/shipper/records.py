"""TFRecord headers: is a record as long as its writer said? A wrong length would lead the reader astray for the rest of the file.

Record: u64 length, u32 masked CRC-32C of these 8 bytes, data, u32 masked CRC of the data (TensorFlow's record_writer). The
data's own checksum is the worker's to check: a record with wrong data is stored and reported there.
"""

from __future__ import annotations

import struct

from crc32c import crc32c

from schemas.framing import RECORD_HEADER, RECORD_OVERHEAD


def intact(buffer: bytes, end: int) -> int:
    """How many of the first `end` bytes (whole records, or a header) belong to records with a right header."""
    position = 0
    while position + RECORD_HEADER <= end:
        length, check = struct.unpack_from("<QI", buffer, position)
        if _masked(buffer[position : position + 8]) != check:
            return position
        position += length + RECORD_OVERHEAD
    return end


def _masked(data: bytes) -> int:
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF

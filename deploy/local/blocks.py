"""ClickHouse's own compressed blocks, which `compress=1` and `decompress=1` ask for.

A block: 16 bytes CityHash128 of all that follows in it; one byte method (0x82 LZ4, 0x90 ZSTD, 0x02 none); its size from the
method byte on and the size of its content, both 4 bytes little-endian; the content. Source: ClickHouse's
`CompressedReadBufferBase` and its native format documentation.
"""

from __future__ import annotations

import struct

import cramjam

from deploy.local.cityhash import cityhash128
from deploy.local.errors import CANNOT_DECOMPRESS, EngineError

_LZ4, _ZSTD, _NONE = 0x82, 0x90, 0x02
_HEAD = struct.Struct("<BII")
BLOCK = 1 << 20  # bytes of content a block: a server's max_compress_block_size
BLOCK_MOST = 1 << 30  # bytes: larger sizes in a head are damage or malice


def encode(data: bytes) -> bytes:
    """LZ4 blocks."""
    blocks = []
    for start in range(0, len(data), BLOCK):
        content = data[start : start + BLOCK]
        packed = bytes(cramjam.lz4.compress_block(content, store_size=False))
        body = _HEAD.pack(_LZ4, _HEAD.size + len(packed), len(content)) + packed
        blocks.append(cityhash128(body) + body)
    return b"".join(blocks)


def decode(data: bytes) -> bytes:
    """Raises `EngineError` for anything but whole, undamaged blocks."""
    contents, position = [], 0
    while position < len(data):
        if position + 16 + _HEAD.size > len(data):
            raise _damaged("a block is cut off")
        method, packed_size, size = _HEAD.unpack_from(data, position + 16)
        body = data[position + 16 : position + 16 + packed_size]
        if packed_size < _HEAD.size or len(body) != packed_size or size > BLOCK_MOST:
            raise _damaged("a block is cut off")
        if cityhash128(body) != data[position : position + 16]:
            raise _damaged("a block's checksum does not match")
        contents.append(_unpack(method, body[_HEAD.size :], size))
        position += 16 + packed_size
    return b"".join(contents)


def _unpack(method: int, packed: bytes, size: int) -> bytes:
    try:
        if method == _NONE:
            content = packed
        elif method == _LZ4:
            content = bytes(cramjam.lz4.decompress_block(packed, output_len=size)) if size else b""
        elif method == _ZSTD:
            content = bytes(cramjam.zstd.decompress(packed))
        else:
            raise _damaged(f"unknown method {method:#x}")
    except cramjam.DecompressionError as error:
        raise _damaged(str(error)) from error
    if len(content) != size:
        raise _damaged("a block's size does not match")
    return content


def _damaged(reason: str) -> EngineError:
    return EngineError(CANNOT_DECOMPRESS, "CANNOT_DECOMPRESS", f"The body holds no compressed blocks: {reason}")

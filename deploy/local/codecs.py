"""Compressions of HTTP bodies: the encodings that ClickHouse's clients ask for."""

from __future__ import annotations

from collections.abc import Callable

import cramjam

from deploy.local.errors import CANNOT_DECOMPRESS, NOT_IMPLEMENTED, EngineError

# In the order in which an answer prefers them: the cheap ones first, because both ends are on one machine.
_MODULES = {"lz4": cramjam.lz4, "zstd": cramjam.zstd, "gzip": cramjam.gzip, "br": cramjam.brotli, "deflate": cramjam.zlib}
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data, level=1)),
    "gzip": lambda data: bytes(cramjam.gzip.compress(data, level=3)),
    "br": lambda data: bytes(cramjam.brotli.compress(data, level=4)),
    "deflate": lambda data: bytes(cramjam.zlib.compress(data, level=3)),
}


def negotiate(accept: str) -> str | None:
    """The encoding for an answer out of an `Accept-Encoding` header; None for plain."""
    wanted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return next((name for name in _COMPRESS if name in wanted), None)


def compress(name: str, data: bytes) -> bytes:
    return _COMPRESS[name](data)


def decompress(name: str, data: bytes) -> bytes:
    """Undo a `Content-Encoding`. Raises `EngineError` for an unknown one or a damaged body."""
    name = {"x-gzip": "gzip", "": "identity"}.get(name.lower(), name.lower())
    if name == "identity" or not data:
        return data
    if name not in _MODULES:
        raise EngineError(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", f"Unknown compression method: {name}")
    try:
        return bytes(_MODULES[name].decompress(data))
    except cramjam.DecompressionError as error:
        raise EngineError(CANNOT_DECOMPRESS, "CANNOT_DECOMPRESS", f"The body is no {name}: {error}") from error

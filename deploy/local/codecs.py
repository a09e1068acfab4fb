"""Compressions of HTTP bodies: the encodings that ClickHouse's clients ask for."""

from __future__ import annotations

from typing import Any

import cramjam

from deploy.local.errors import CANNOT_DECOMPRESS, NOT_IMPLEMENTED, EngineError

# In the order in which an answer prefers them, each at a cheap level: both ends are on one machine.
_MODULES: dict[str, tuple[Any, int]] = {
    "lz4": (cramjam.lz4, 1),
    "zstd": (cramjam.zstd, 1),
    "gzip": (cramjam.gzip, 3),
    "br": (cramjam.brotli, 4),
    "deflate": (cramjam.zlib, 3),
}


class Stream:
    """Compresses an answer piece by piece; with no encoding it hands the pieces through."""

    def __init__(self, encoding: str | None) -> None:
        module, level = _MODULES[encoding] if encoding else (None, 0)
        self._compressor = module.Compressor(level) if module else None

    def add(self, data: bytes) -> bytes:
        """What can be sent now."""
        if self._compressor is None:
            return data
        self._compressor.compress(data)
        return bytes(self._compressor.flush())

    def end(self) -> bytes:
        return bytes(self._compressor.finish()) if self._compressor else b""


def compress(encoding: str, data: bytes) -> bytes:
    module, level = _MODULES[encoding]
    compressor = module.Compressor(level)
    compressor.compress(data)
    return bytes(compressor.finish())


def negotiate(accept: str) -> str | None:
    """The encoding for an answer out of an `Accept-Encoding` header; None for plain."""
    wanted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return next((name for name in _MODULES if name in wanted), None)


def decompress(name: str, data: bytes) -> bytes:
    """Undo a `Content-Encoding`. Raises `EngineError` for an unknown one or a damaged body."""
    name = {"x-gzip": "gzip", "": "identity"}.get(name.lower(), name.lower())
    if name == "identity" or not data:
        return data
    if name not in _MODULES:
        raise EngineError(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", f"Unknown compression method: {name}")
    try:
        return bytes(_MODULES[name][0].decompress(data))
    except cramjam.DecompressionError as error:
        raise EngineError(CANNOT_DECOMPRESS, "CANNOT_DECOMPRESS", f"The body is no {name}: {error}") from error

"""Encodings and ClickHouse's own blocks, against other people's libraries and known answers."""

from __future__ import annotations

import gzip
import zlib

import lz4.frame
import pytest
from backports import zstd

from deploy.local import blocks, codecs
from deploy.local.cityhash import cityhash128
from deploy.local.errors import EngineError

# Low and high half, by the package clickhouse-cityhash (Google's C++ of version 1.0.2) over bytes(i * 7 % 256 for i in range(n)).
KNOWN = {
    0: "3df09dfc64c09a2b3cb540c392e51e29",
    1: "a04b71ab61de6422f768684937e23970",
    5: "8a33b16f15c5be9f6e561cb3e46be953",
    11: "0f19fcb8d315f4251cdfb19e84f8ea55",
    16: "83ec0fac4964837bd275575faba34852",
    23: "3a02fdfb112dd51640a236f83e3eb865",
    40: "54d196b23982124f6b063802571562f5",
    127: "92014b33a50c9fa190fe7c076ed61607",
    143: "befd988d63110637794a5b6c2ec5832b",
    144: "692e4b2ca634b28a4fa73d4eedd250cd",
    200: "d86306e495af33e1dbf9f01063782843",
    271: "a097e14570d2ed1be89f7b1ba3418cc8",
    272: "89ab024739e14973057124f84dcf1dbb",
    1000: "4253c6e06639463e2df1aea0eb8329d7",
}
CONTENTS = [b"x", b"line 1\nline 2\n" * 50_000, bytes(range(256)) * 9000]


@pytest.mark.parametrize("size", KNOWN)
def test_cityhash(size: int) -> None:
    found = cityhash128(bytes(i * 7 % 256 for i in range(size)))
    assert found[7::-1].hex() + found[:7:-1].hex() == KNOWN[size]


@pytest.mark.parametrize("content", [b"", *CONTENTS])
def test_blocks_come_back(content: bytes) -> None:
    assert blocks.decode(blocks.encode(content)) == content


def test_damaged_blocks_are_refused() -> None:
    whole = blocks.encode(b"line\n" * 1000)
    for position in range(0, len(whole), 7):
        damaged = whole[:position] + bytes((whole[position] ^ 1,)) + whole[position + 1 :]
        with pytest.raises(EngineError):
            blocks.decode(damaged)
    for size in range(1, len(whole)):
        with pytest.raises(EngineError):
            blocks.decode(whole[:size])


OTHERS = {
    "gzip": (gzip.compress, gzip.decompress),
    "deflate": (zlib.compress, zlib.decompress),
    "lz4": (lz4.frame.compress, lz4.frame.decompress),
    "zstd": (zstd.compress, zstd.decompress),
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("encoding", OTHERS)
def test_other_libraries_read_ours_and_we_read_theirs(encoding: str, content: bytes) -> None:
    theirs, undo = OTHERS[encoding]
    assert undo(codecs.compress(encoding, content)) == content
    assert codecs.decompress(encoding, theirs(content)) == content
    stream = codecs.Stream(encoding)
    pieces = [stream.add(content[i : i + 100_000]) for i in range(0, len(content), 100_000)]
    assert undo(b"".join(pieces) + stream.end()) == content


def test_brotli_comes_back() -> None:
    assert codecs.decompress("br", codecs.compress("br", CONTENTS[1])) == CONTENTS[1]


def test_encodings_are_chosen_among_what_is_asked() -> None:
    assert codecs.negotiate("gzip, deflate") == "gzip"
    assert codecs.negotiate("gzip;q=0.5, LZ4") == "lz4"
    assert codecs.negotiate("identity, nosuch") is None
    assert codecs.negotiate("") is None


def test_unknown_and_damaged_encodings() -> None:
    assert codecs.decompress("", b"plain") == codecs.decompress("identity", b"plain") == b"plain"
    for encoding, body in (("nosuch", b"x"), ("gzip", b"no gzip"), ("lz4", b"no lz4")):
        with pytest.raises(EngineError):
            codecs.decompress(encoding, body)

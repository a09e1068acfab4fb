"""Addresses below a viewer's page, as the bytes that came. `/view/TASK/TOOL/app/~KEY/REST` is the tool; KEY is the right to ask.

A tool's page must not be able to ask the gateway in the name of the person who looks at it. So it runs in a sandbox without an
origin (proxy.py), from where browsers send none of the gateway's cookies; the key in its own address stands for them, is good for
this one viewer, and ends with it. Programs ask at `/view/TASK/TOOL/app/REST`, with a token.
"""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from gateway.viewers.words import KEY_SIGN


def rest_of(raw_path: bytes) -> bytes:
    """What stands behind `/view/TASK/TOOL/app/`: the bytes that go to the tool, behind the key if there is one."""
    segments = raw_path.split(b"?")[0].split(b"/")
    for place, segment in enumerate(segments):
        if unquote_to_bytes(segment) == b"view":
            return b"/".join(segments[place + 4 :])
    return b""


def split(rest: bytes) -> tuple[str | None, bytes]:
    """The key (None: it came without one), and what goes to the tool."""
    if not rest.startswith(KEY_SIGN.encode()):
        return None, rest
    key, _, behind = rest.partition(b"/")
    return key[1:].decode("latin-1"), behind


def keyed(raw_path: bytes) -> bool:
    """Whether the address holds its right in itself: who asks, from which page, does not matter then."""
    return split(rest_of(raw_path))[0] is not None

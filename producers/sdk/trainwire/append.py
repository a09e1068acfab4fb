"""`trainwire log`: one call, one record, for tasks that are not Python. All calls of a start share one file."""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from pathlib import Path
from typing import Callable, List

from trainwire import records
from trainwire.identity import Identity


def path_of(identity: Identity, folder: Path, *, start_known: bool) -> Path:
    """The file of all calls for this start: `<task>.a<attempt>.r<rank>.<start8>.cli.jsonl`.

    Where nothing names the start, no call can know another's, and all share the name without it.
    """
    stem = identity.stem()
    return folder / f"{stem if start_known else stem.rpartition('.')[0]}.cli.jsonl"


def append(path: Path, identity: Identity, lines: List[str], now: Callable[[], int]) -> None:
    """Appends whole lines, and the header before the first ones. Any number of callers at once. Raises OSError.

    The lock keeps the header first and alone; O_APPEND with one write keeps lines whole. A line that a full disk or a kill cut
    short is ended before ours begins; it is not cut away, because a shrinking file means another file to its readers.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        size = os.fstat(fd).st_size
        if size == 0:
            first = records.header(
                now(), identity, uuid=str(uuid.uuid4()), host=socket.gethostname(), pid=os.getpid(), file=1, mode="sdk"
            )
            lines = [first, *lines]
        elif os.pread(fd, 1, size - 1) != b"\n":
            lines = ["\n", *lines]
        data = "".join(lines).encode("utf-8", "replace")
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)

"""Becomes a tool: `python -I -S child.py FOLDER COMMAND…`, run by the process launcher. Standard library only, for its start.

Takes the folder's lock and keeps it over exec, so that the lock says whether the tool lives: a pid could be another's by now, and
a launcher killed between starting a process and noting it would leave one that nobody knows. Whoever does not get the lock ends:
there is one already. Then it notes pid and port, and becomes the tool.
"""

import fcntl
import json
import os
import socket
import sys
import time


def main() -> None:
    folder, *command = sys.argv[1:]
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)  # noqa: PTH118  # pathlib costs 20 ms of start
    for attempt in range(30):  # a launcher that looks holds it for microseconds
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            if attempt == 29:
                sys.exit(0)
            time.sleep(0.05)
    os.set_inheritable(lock, True)
    if not os.path.exists(os.path.join(folder, "spec.json")):  # noqa: PTH110, PTH118  # removed meanwhile
        sys.exit(0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    note = {"pid": os.getpid(), "port": port, "started_ms": time.time_ns() // 1_000_000}
    fresh = os.path.join(folder, "process.new")  # noqa: PTH118
    with open(fresh, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(note, file)
    os.replace(fresh, os.path.join(folder, "process.json"))  # noqa: PTH105, PTH118
    command = [part.replace("{port}", str(port)) for part in command]
    os.execvp(command[0], command)  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()

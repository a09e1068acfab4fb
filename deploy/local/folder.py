"""The data folder of a stack: what it remembers between commands.

`state.json` holds ports, processes and whether somebody is stopping them; `credentials.json` the users' passwords. Both are
readable by their owner only, and replaced whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deploy.local.process import Identity
from runtime.errors import PermanentError

ROOM = 512 << 20  # bytes free that a start asks for: below that the broker's and the engine's first segments do not fit


class Folder:
    """Its files, read anew at each question: other commands write them too."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.credentials = self.path / "credentials.json"
        self._state = self.path / "state.json"

    def prepare(self) -> None:
        """Make the folders. Raises `PermanentError` when there is no room."""
        for folder in (self.logs, self.path / "clickhouse"):
            folder.mkdir(parents=True, exist_ok=True)
        ignore = self.path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        if shutil.disk_usage(self.path).free < ROOM:
            raise self.no_room()

    def no_room(self) -> PermanentError:
        return PermanentError(f"{self.path} has less than {ROOM >> 20} MiB free: make room, or choose another data folder")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One start at a time."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / "lock").open("w")
        except OSError as error:
            raise PermanentError(f"cannot use {self.path} as data folder: {error.strerror}") from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def ports(self) -> dict[str, int]:
        found: dict[str, int] = self._read().get("ports", {})
        return found

    def process(self, name: str) -> Identity | None:
        """The service's process that was started last, alive or not."""
        known = self._read().get("processes", {}).get(name)
        return Identity(**known) if known else None

    def stopping(self) -> bool:
        return bool(self._read().get("stopping"))

    def remember(
        self,
        *,
        ports: Mapping[str, int] | None = None,
        processes: Mapping[str, Identity] | None = None,
        stopping: bool = False,
    ) -> None:
        """Write what is given over what was there; `processes` are added to those known."""
        state = self._read()
        known = state.get("processes", {})
        for name, identity in (processes or {}).items():
            known[name] = {"pid": identity.pid, "started": identity.started, "boot": identity.boot}
        _write(self._state, {"ports": ports or state.get("ports", {}), "processes": known, "stopping": stopping})

    def password(self, user: str) -> str:
        """Raises `PermanentError` before the first start."""
        try:
            return str(json.loads(self.credentials.read_text())[user])
        except FileNotFoundError:
            raise PermanentError(f"{self.path} holds no local stack yet: start it with `trainwirectl up`") from None

    def make_passwords(self, given: Mapping[str, str]) -> None:
        """For each user the given password, else the one it has, else a new one."""
        known: dict[str, str] = json.loads(self.credentials.read_text()) if self.credentials.exists() else {}
        _write(self.credentials, {user: text or known.get(user) or secrets.token_urlsafe(18) for user, text in given.items()})

    def _read(self) -> dict[str, Any]:
        try:
            state = json.loads(self._state.read_text())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except json.JSONDecodeError:
            raise PermanentError(
                f"{self._state} is damaged: stop the stack with `trainwirectl down --delete`, or remove it"
            ) from None
        return state if isinstance(state, dict) else {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all, and for this user only."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        json.dump(content, handle)
    temporary.replace(path)

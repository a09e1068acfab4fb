"""The ledgers that one worker holds: loaded when a file is first asked for, forgotten with its assignment."""

from __future__ import annotations

from collections.abc import Iterable

from stream_jobs.archive import Archive, Key
from stream_jobs.ledger import FileLedger, fork_id


class Files:
    """The ledgers of one assignment's files, loaded when first asked for. Dropped whole when partitions are revoked."""

    def __init__(self, archive: Archive, most: int = 20_000) -> None:
        self._archive, self._most = archive, most
        self._files: dict[Key, FileLedger] = {}

    def load(self, wanted: Iterable[tuple[str, str, str]]) -> list[FileLedger]:
        """Make (task, file id, reading) known, with the fork of that reading. Returns the ledgers that were loaded now."""
        wanted = list(wanted)
        missing: dict[Key, None] = {}
        kept: set[Key] = set()
        for task, file_id, reading in wanted:
            key, fork_key = (task, file_id), (task, fork_id(file_id, reading))
            kept |= {key, fork_key}
            file = self._files.get(key)
            if file is None:
                missing[key] = None
            if file is None or reading not in file.looked or (reading in file.forks and fork_key not in self._files):
                missing[fork_key] = None
        self._drop_old(len(missing), kept)
        mains = {(task, file_id) for task, file_id, _ in wanted}
        loaded = self._archive.load(list(missing))
        for key in missing:
            file = loaded.get(key) or FileLedger(*key)
            if key in mains or file.runs:
                self._files.setdefault(key, file)
        for task, file_id, reading in wanted:
            file = self._files[task, file_id]
            if reading not in file.looked:
                file.looked.add(reading)
                fork = self._files.get((task, fork_id(file_id, reading)))
                if fork is not None:
                    file.forks[reading] = fork.runs[0].start
        return [self._files[key] for key in loaded]

    def get(self, task: str, file_id: str) -> FileLedger:
        return self._files[task, file_id]

    def routed(self, task: str, file_id: str, reading: str) -> str:
        """The id under which a reading of a file is stored: that of its fork where it has one."""
        file = self._files[task, file_id]
        return fork_id(file_id, reading) if reading in file.forks else file_id

    def fork(self, file: FileLedger, reading: str, at: int, equal_to: int) -> tuple[FileLedger, bool]:
        """The file that a reading is from `at` on, and whether it is new."""
        key = (file.task, fork_id(file.file_id, reading))
        fork = self._files.get(key)
        new = fork is None
        if fork is None:
            fork = self._files[key] = FileLedger(*key, parent=file.file_id, parent_end=equal_to)
        file.forks[reading] = min(at, file.forks.get(reading, at))
        return fork, new

    def _drop_old(self, coming: int, kept: set[Key]) -> None:
        """Make room: of the files not asked for, forget those first that were loaded first. All of it can be loaded again."""
        surplus = len(self._files) + coming - self._most
        if surplus > 0:
            for key in [key for key in self._files if key not in kept][:surplus]:
                del self._files[key]

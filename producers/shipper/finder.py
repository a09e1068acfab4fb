"""Taking files into care: those that a pattern matches, those of the checkpoint, those that rotation hid from the patterns."""

from __future__ import annotations

import logging
import os
import pathlib
from collections.abc import Callable

from producers.shipper import discovery, identity, locate
from producers.shipper.care import Care
from producers.shipper.checkpoint import FOLDER, Saved, revive, store_name
from producers.shipper.discovery import Found, Pattern
from producers.shipper.folders import StateFolder
from producers.shipper.followed import Followed
from producers.shipper.locate import Locator
from runtime.errors import TemporaryError

log = logging.getLogger("trainwire-shipper.finder")

SCAN = 0.5  # s between looks for new files: "found within a second"
SCAN_SHARE = 10  # a scan that takes t seconds is made at most each 10 t …
SCAN_MOST = 5.0  # … but at least each 5 s, also when the clock was set meanwhile


class Finder:
    """Scans, admits and restores. `write` is the checkpoint's seam for tests."""

    def __init__(self, care: Care, locator: Locator, write: Callable[[pathlib.Path, bytes], None] | None = None) -> None:
        self._care = care
        self._locator = locator
        self._write = write
        settings = care.settings
        self._patterns = tuple(Pattern.parse(text) for text in settings.files.logs)
        task_from = settings.task.task_from
        self._name = store_name(settings.files.logs, settings.task.task_id, task_from.pattern if task_from else "")
        state = settings.files.state_dir
        self._exclude = (*settings.files.exclude, *([os.path.join(os.path.abspath(state), "*")] if state else []))
        self.folders: dict[str, StateFolder] = {}
        self._links: dict[str, str] = {}  # real path → the symbolic link that led to it
        self._refused: dict[str, str] = {}  # path → why it is not followed: said once
        self.next_scan = 0.0

    def scan(self, now: float) -> None:
        """Take into care what is new, and notice where another file stands at a known place."""
        care = self._care
        problems: dict[str, str] = {}
        began = care.wall()
        found = discovery.scan(self._patterns, self._exclude, problems, self._is_known)
        self._locator.known = {item.inode: item for item in found}
        self._links = {item.real: item.path for item in found if item.real != item.path}
        for item in found:
            owner = care.inodes.get(item.inode)
            if owner is None and item.real not in care.places:
                self.admit(item, now)
            elif owner is None:
                care.schedule(care.places[item.real], now)
            elif owner.tail.real is None:  # it had been moved out of sight
                care.settle(owner, item, now)
        current = {item.path for item in found} | set(problems)
        self._refused = {path: why for path, why in self._refused.items() if path in current}
        for path, why in problems.items():
            self._refuse(path, "folder", f"{why}; it is tried again")
        self.next_scan = now + min(max(SCAN, SCAN_SHARE * (care.wall() - began)), SCAN_MOST)

    def admit(self, found: Found, now: float) -> None:
        """Follow a file from its start, unless it has no task or another shipper owns it."""
        care = self._care
        path = identity.first_path(self._links.get(found.real, found.path))
        ref = identity.owner(care.settings.task, path)
        if ref is None:
            self._refuse(found.path, "no-task", "no task id in its path (TRAINWIRE_TASK_FROM); it is left alone")
            return
        folder = self._folder(found.real)
        if folder is None:
            return
        release = folder.take(found.real, found.inode)
        if release is None:
            self._refuse(found.path, "owned", "another shipper owns it; it is left to that one")
            return
        self._refused.pop(found.path, None)
        item = care.add(ref, found, folder, release, now)
        try:
            care.read(item)  # opened at once, so that it can be read to its end even if it is deleted soon
        except (OSError, TemporaryError) as error:
            care.trouble(item, error, now)

    def admit_newcomers(self, real: str, since: int, now: float) -> None:
        """What stands at `real` now that its file has left, and what stood there in between and was rotated away.

        The latter: files named after it, followed by nobody, and written to after `since` (nanoseconds), when the file that
        left was last seen there.
        """
        care = self._care
        at_place = discovery.look(real)
        if at_place is not None and discovery.excluded(real, self._exclude):
            at_place = None
        between = [found for found in self._locator.rotated(real) if found.mtime >= since]
        for found in (*between, *([at_place] if at_place is not None else [])):
            if found.inode not in care.inodes and found.real not in care.places:
                self.admit(found, now)

    def restore(self, now: float) -> None:
        """Open the state folders of patterns whose base exists by now, and take up what their checkpoints say."""
        fixed = self._care.settings.files.state_dir
        for pattern in self._patterns:
            path = fixed or os.path.join(pattern.base, FOLDER)
            if (path in self.folders and self.folders[path].owned) or not (fixed or os.path.isdir(pattern.base)):
                continue
            folder = self.folders.setdefault(path, StateFolder(pathlib.Path(path), self._name, self._write))
            saved = folder.open()
            if saved is not None:
                self._restore(folder, saved, now)

    def _is_known(self, real: str, number: int) -> bool:
        """Whether the file that is followed at `real` still stands there; it is looked at when it is due."""
        item = self._care.places.get(real)
        return item is not None and item.tail.inode is not None and item.tail.inode[1] == number

    def _restore(self, folder: StateFolder, saved: Saved, now: float) -> None:
        care = self._care
        care.register.gone |= saved.gone
        rest = []
        for entry in saved.entries:
            care.register.restore(entry.key, entry.generation)
            item = Followed(revive(entry), folder, None, entry.real, last_change=now)
            care.all[item] = None
            care.schedule(item, now)
            rest.append(item)
        # Those that are where they were come first, then renamed ones, so that nobody takes them for a copy of another file.
        rest = [item for item in rest if not self._found_again(item, discovery.look(item.place), now)]
        left = {item: (item.place, item.tail.mtime) for item in rest}
        rest = [item for item in rest if not self._found_again(item, self._locator.renamed(item.tail), now)]
        lost = set(rest)
        for item, (place, since) in left.items():
            if item not in lost:  # renamed, perhaps not once: what stood at its place in between may match no pattern
                self.admit_newcomers(place, since, now)
        for item in rest:
            found = discovery.look(item.place)
            if found is not None and found.inode == item.tail.inode and found.inode not in care.inodes:
                care.inodes[found.inode] = item  # it was rewritten or truncated meanwhile: its next look will tell
                care.places[item.place] = item
                item.release = folder.take(found.real, found.inode)

    def _found_again(self, item: Followed, found: Found | None, now: float) -> bool:
        """Take a restored file up at `found`, if it is there unchanged."""
        care = self._care
        if found is None or found.inode != item.tail.inode or found.inode in care.inodes:
            return False
        if not locate.holds(found.real, item.tail):
            return False
        item.tail.restored = False
        care.settle(item, found, now)
        if item.release is None:
            care.drop(item, "another shipper owns it now")
            return True
        try:
            read = care.read(item)
            if read is not None:
                item.tail.recall(read)
        except (OSError, TemporaryError) as error:
            care.trouble(item, error, now)
        return True

    def _folder(self, real: str) -> StateFolder | None:
        """The state folder for a file: the setting's, or that of the longest base above it; None while it is not ours."""
        fixed = self._care.settings.files.state_dir
        above = [path for path in self.folders if fixed or real.startswith(os.path.dirname(path).rstrip("/") + "/")]
        path = max(above, key=len, default=next(iter(self.folders), None))  # a link may lead out of every base: any folder serves
        return self.folders[path] if path is not None and self.folders[path].owned else None

    def _refuse(self, path: str, reason: str, why: str) -> None:
        if self._refused.get(path) != why:
            self._refused[path] = why
            self._care.metrics.inc("shipper_file_errors_total", reason=reason)
            log.warning("%s: %s", path, why)

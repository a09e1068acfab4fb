"""A task's points as TensorBoard's event files: one run an attempt and rank (several where its
files write one metric by turns, see lanes.py), one file a run, kept up to date while it is open.

So TensorBoard shows every task, also one that never wrote an event file. Existing points come thinned (extremes stay) by one
question a group of names; what is new comes by the same live feed as the page's, whose place is coverage: nothing twice, nothing
left out. The place and each file's length are kept, so that a gateway that was killed goes on at the byte where it stood.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gateway.coverage import Coverage
from gateway.feed import Feed, coverage
from gateway.queries.curves import CurveRequest, curves
from gateway.store import Query
from gateway.viewers.feeds import event_files
from gateway.viewers.feeds.lanes import Lanes

POINTS = 5000  # most points of a curve at first: more than a screen is wide, and what TensorBoard is told to keep
ALL_POINTS = 2_000_000  # of all curves together: 100 MB of event files, some 2 s of writing
LEAST_POINTS = 100
ANSWER = 200_000  # rows of one question: well below the limit of an answer
FLUSH = 1 << 20  # bytes held before they are written
# After an extraction is replaced by a newer one, the runs are taken away and written anew: longer than TensorBoard's
# reload interval (2 s, in its TOML file) and a load, so that it notices.
PAUSE = 7.0

Series = tuple[str, int, int]  # name, rank, attempt
Point = tuple[float, int | None, float, str]  # wall time in seconds, step, value, file


class TensorBoardFeed:
    """Writes into `folder` what of the task is stored. `state` is a file of its own, outside of what the tool reads."""

    def __init__(self, task_id: str, folder: Path, state: Path) -> None:
        self.task_id, self.folder, self.state = task_id, folder, state
        self._lengths: dict[str, int] = {}  # run: bytes written
        self._counted: dict[Series, int] = {}  # series without steps: points so far
        self._lanes: dict[Series, Lanes] = {}
        self._held: dict[str, list[bytes]] = {}
        self._feed: Feed | None = None
        self._again_at: float | None = None

    def fill(self, query: Query) -> int:
        """Write all there is, from nothing. Returns the number of points."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()  # the folder above is the viewer's: where that is gone, so is the viewer
        self.state.unlink(missing_ok=True)
        self._lengths, self._counted, self._lanes, self._held = {}, {}, {}, {}
        place = coverage(query, self.task_id)
        written = 0
        for series, points in self._stored(query):
            inside = [p for p in points if _covers(place, p[3], p[4])]  # what came meanwhile comes by the feed
            self._write(series, [p[:4] for p in inside])
            written += len(inside)
        if self._lengths or self._held:
            self._parameters(query)
        self._feed = Feed(self.task_id, place)
        self._save()
        return written

    def resume(self) -> bool:
        """Go on where a gateway before this one stood. False where that cannot be told: fill again."""
        try:
            kept = json.loads(self.state.read_text())
            lengths = {str(run): int(length) for run, length in kept["lengths"].items()}
            for run, length in lengths.items():
                with self._file(run).open("r+b") as file:
                    if file.seek(0, os.SEEK_END) < length:
                        return False
                    file.truncate(length)  # bytes behind it are written again, the same ones
            self._lengths = lengths
            self._counted = {(name, rank, attempt): count for name, rank, attempt, count in kept["counted"]}
            self._lanes = {(name, rank, attempt): Lanes.of_data(data) for name, rank, attempt, data in kept["lanes"]}
            self._feed = Feed(self.task_id, Coverage.from_cursor(kept["cursor"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return True

    def look(self, query: Query, now: float) -> bool:
        """Add what is new. True where something was. `now`: seconds of any clock that only goes on."""
        if self._again_at is not None:
            if now < self._again_at:
                return False
            self._again_at = None
            return self.fill(query) > 0
        if self._feed is None:
            return self.fill(query) > 0
        found = False
        while (message := self._feed.look(query)) is not None:
            if message.revised:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir()
                self._again_at = now + PAUSE
                return True
            by_series: dict[Series, list[Point]] = {}
            for p in message.points:
                by_series.setdefault((p["name"], p["rank"], p["attempt"]), []).append(
                    (p["time_ms"] / 1000, p["step"], p["value"], p["file_id"])
                )
            for series, points in by_series.items():
                self._write(series, points)
            self._save()
            found = found or bool(message.points)
            if not message.more:
                break
        return found

    def _stored(self, query: Query) -> Iterator[tuple[Series, list[tuple[float, int | None, float, str, int]]]]:
        """Series with their points (wall time, step, value, file, offset), thinned."""
        found = query(
            """
            SELECT name, uniqExact((rank, attempt)) AS series, countIf(step IS NULL) = 0 AS stepped
            FROM curves WHERE task_id = {task:String} GROUP BY name ORDER BY name
            """,
            task=self.task_id,
        )
        all_series = sum(found["series"])
        each = min(POINTS, max(ALL_POINTS // max(all_series, 1), LEAST_POINTS))
        for stepped in (True, False):
            names = [
                (n, s) for n, s, w in zip(found["name"], found["series"], found["stepped"], strict=True) if bool(w) is stepped
            ]
            for group in _grouped(names, max(ANSWER // each, 1)):
                request = CurveRequest(tuple(group), "step" if stepped else "time", "each", each)
                answer = curves(query, self.task_id, request)
                for one in answer["series"]:
                    columns = zip(one["time_ms"], one["step"], one["value"], one["file"], one["offset"], strict=True)
                    points = [(ms / 1000, step if stepped else None, v, answer["files"][f], o) for ms, step, v, f, o in columns]
                    yield (one["name"], one["rank"], one["attempt"]), points

    def _parameters(self, query: Query) -> None:
        """As a table in the text dashboard of the first run."""
        found = query(
            """
            SELECT item.1 AS name, argMax(item.2, (time, file_id, offset, place)) AS value,
                   min(toUnixTimestamp64Milli(time)) AS time_ms
            FROM (SELECT time, file_id, offset, place, arrayJoin(CAST(fields, 'Array(Tuple(String, String))')) AS item
                  FROM events WHERE task_id = {task:String} AND kind = 'params')
            GROUP BY name ORDER BY name LIMIT 2000
            """,
            task=self.task_id,
        )
        if found["name"]:
            cells = zip(found["name"], found["value"], strict=True)
            table = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in cells)
            text = f"| parameter | value |\n|---|---|\n{table}"
            self._append(min({*self._lengths, *self._held}), event_files.text("parameters", min(found["time_ms"]) / 1000, text))

    def _write(self, series: Series, points: Iterable[Point]) -> None:
        name, rank, attempt = series
        by_lane: dict[int, list[tuple[float, int, float]]] = {}
        for wall, step, value, file in points:
            lane = 0
            if step is None or series in self._counted:  # no steps: the place in the curve is its step
                step = self._counted.get(series, 0)
                self._counted[series] = step + 1
            else:
                lane = self._lanes.setdefault(series, Lanes()).place(file, step)
            by_lane.setdefault(lane, []).append((wall, step, value))
        for lane, numbered in by_lane.items():
            self._append(_run(attempt, rank, lane), event_files.scalars(name, numbered))

    def _append(self, run: str, data: bytes) -> None:
        held = self._held.setdefault(run, [])
        held.append(data)
        if sum(map(len, held)) > FLUSH:
            self._flush(run)

    def _flush(self, run: str) -> None:
        data = b"".join(self._held.pop(run, []))
        file = self._file(run)
        if run not in self._lengths:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            data = event_files.head(time.time()) + data
        with file.open("ab") as out:
            out.write(data)
        self._lengths[run] = self._lengths.get(run, 0) + len(data)

    def _file(self, run: str) -> Path:
        return self.folder / run / "events.out.tfevents.0.trainwire"

    def _save(self) -> None:
        for run in list(self._held):
            self._flush(run)
        assert self._feed is not None  # noqa: S101  # made before anything is saved
        kept: dict[str, Any] = {
            "cursor": self._feed.coverage.cursor(),
            "lengths": self._lengths,
            "counted": [[*series, count] for series, count in self._counted.items()],
            "lanes": [[*series, lanes.as_data()] for series, lanes in self._lanes.items()],
        }
        fresh = self.state.with_suffix(".new")
        fresh.write_text(json.dumps(kept))
        fresh.replace(self.state)


def _run(attempt: int, rank: int, lane: int) -> str:
    return f"attempt-{attempt}/rank-{rank}" + (f"/file-{lane + 1}" if lane else "")


def _covers(place: Coverage, file: str, offset: int) -> bool:
    return any(start <= offset < end for start, end, _ in place.files.get(file, ()))


def _grouped(names: list[tuple[str, int]], most: int) -> Iterator[list[str]]:
    """Names in groups of at most `most` series (one name goes alone where it has more)."""
    group: list[str] = []
    held = 0
    for name, series in names:
        if group and held + series > most:
            yield group
            group, held = [], 0
        group.append(name)
        held += series
    if group:
        yield group


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:500]

"""The live stream: everything once, whatever order rows come in and wherever a reader comes back."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from tests.integration.gateway_support import Seeded, seeded

pytestmark = pytest.mark.services
__all__ = ["seeded"]


class Reader:
    """One connection's events, in order. `place` is the id of the last one, as a browser keeps it."""

    def __init__(self, seeded: Seeded, task: str, *, after: str = "", last: str = "") -> None:
        self._stack = contextlib.ExitStack()
        headers = {"Last-Event-ID": last} if last else {}
        answer = seeded.api.stream("GET", f"/api/v1/tasks/{task}/live", params={"after": after}, headers=headers)
        self._lines = self._stack.enter_context(answer).iter_lines()
        self.place = ""
        self.lines: list[tuple[str, int]] = []
        self.points: list[tuple[str, int, int, float]] = []
        self.events: list[str] = []
        self.revised: list[str] = []
        self.state: dict[str, Any] = {}
        self.messages = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, until: Any) -> Reader:
        """Take events until `until(self)`; the test's own time limit ends a stream that never brings it."""
        fields: dict[str, str] = {}
        while not until(self):
            line = next(self._lines)
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
                continue
            self._take(fields)
            fields = {}
        return self

    def _take(self, fields: dict[str, str]) -> None:
        self.place = fields.get("id", self.place)
        data = json.loads(fields.get("data", "null"))
        if fields.get("event") == "new":
            self.messages += 1
            self.lines += [(line["file_id"], line["offset"]) for line in data["lines"]]
            self.points += [(p["file_id"], p["offset"], p["place"], p["value"]) for p in data["points"]]
            self.events += [event["kind"] for event in data["events"]]
            self.revised += data["revised"]
        elif fields.get("event") == "state":
            self.state = data


def test_what_is_stored_later_comes_and_nothing_from_before(seeded: Seeded) -> None:
    file = seeded.file("grows")
    file.log({"loss": 3.0}, step=0)
    file.store()
    with Reader(seeded, "grows") as reader:
        reader.read(lambda r: r.state)
        offset = file.log({"loss": 2.0, "lr": 0.1}, step=1)
        file.event("checkpoint", {"path": "1.pt"})
        file.store()
        reader.read(lambda r: r.events)
    assert reader.points == [(file.file_id, offset, 0, 2.0), (file.file_id, offset, 1, 0.1)]
    assert reader.lines[0] == (file.file_id, offset)
    assert reader.events == ["checkpoint"]
    assert reader.state["task"]["task_id"] == "grows"


def test_rows_come_when_their_range_is_confirmed_and_gaps_when_they_are_filled(seeded: Seeded) -> None:
    file = seeded.file("gaps")
    offsets = [file.text("x" * 99) for _ in range(10)]
    file.store(covered=False)
    file.cover(0, 200)
    with Reader(seeded, "gaps", after="start") as reader:
        reader.read(lambda r: len(r.lines) == 2)
        file.cover(500, 800)  # the later bytes first
        reader.read(lambda r: len(r.lines) == 5)
        file.cover(200, 600)  # what was missing, over what is there
        reader.read(lambda r: len(r.lines) == 8)
        file.cover(0, 1000)
        reader.read(lambda r: len(r.lines) == 10)
    assert sorted(reader.lines) == [(file.file_id, offset) for offset in offsets]


def test_a_reader_that_comes_back_gets_the_rest_once(seeded: Seeded) -> None:
    files = [seeded.file("back", f"back-{rank}", rank=rank, world_size=3) for rank in range(3)]
    seen: list[tuple[str, int]] = []
    place, written = "start", 0
    for turn in range(6):
        for file in files:
            for _ in range(turn + 1):
                file.text("y" * (turn * 7 + 3))
                written += 1
            if (turn + file.rank) % 2:  # some files come late, and in larger pieces
                file.store()
        if turn == 5:
            for file in files:
                file.store()
        with Reader(seeded, "back", last=place if place != "start" else "", after=place) as reader:
            stored = sum(file._start > 0 for file in files)
            if stored:
                reader.read(lambda r: r.messages > 0)
            seen += reader.lines
            place = reader.place or place
    with Reader(seeded, "back", last=place) as reader:
        reader.read(lambda r: len(seen) + len(r.lines) >= written)
        seen += reader.lines
    assert len(seen) == written
    assert len(set(seen)) == written


def test_a_long_log_comes_whole_in_several_messages(seeded: Seeded) -> None:
    file = seeded.file("lengthy")
    offsets = [file.log({"loss": float(i)}, step=i) for i in range(3500)]
    wide = file.log({f"m{i}": float(i) for i in range(6000)}, step=3500)  # more points than a message holds
    file.store()
    with Reader(seeded, "lengthy", after="start") as reader:
        reader.read(lambda r: len(r.lines) == 3501)
    assert reader.messages >= 4
    assert [offset for _, offset in reader.lines] == [*offsets, wide]
    assert [point[3] for point in reader.points] == [float(i) for i in range(3500)] + [float(i) for i in range(6000)]


def test_a_newer_extraction_is_told_and_gives_nothing_twice(seeded: Seeded) -> None:
    file = seeded.file("revised")
    file.log({"loss": 1.0}, step=1)
    file.store()
    with Reader(seeded, "revised", after="start") as reader:
        reader.read(lambda r: r.points)
        file.cover(0, file.size, revision=file.revision + 1)
        reader.read(lambda r: r.revised)
        place = reader.place
    assert reader.revised == [file.file_id]
    assert len(reader.points) == 1
    with Reader(seeded, "revised", last=place) as again:
        again.read(lambda r: r.state)
    assert (again.points, again.revised) == ([], [])


def test_the_more_exact_source_takes_over(seeded: Seeded) -> None:
    file = seeded.file("sources")
    file.log({"loss": 1.0}, step=1, text="loss=1.0", source="pairs")
    file.store()
    with Reader(seeded, "sources", after="start") as reader:
        reader.read(lambda r: r.points)
        file.log({"loss": 1.25}, step=2)
        file.log({"loss": 1.2}, step=2, text="loss=1.2", source="pairs")
        file.store()
        reader.read(lambda r: len(r.lines) == 3)
    assert [point[3] for point in reader.points] == [1.0, 1.25]
    assert reader.revised == [file.file_id]


def test_events_of_the_pipeline_come_with_the_state(seeded: Seeded) -> None:
    file = seeded.file("piped")
    file.text("x")
    file.store()
    with Reader(seeded, "piped") as reader:
        reader.read(lambda r: r.state)
        file.said("rewritten", "the file was begun anew")
        reader.read(lambda r: r.state["pipeline"])
    assert reader.state["pipeline"][0]["message"] == "the file was begun anew"


@pytest.mark.parametrize("place", ["nonsense", "eJw", "a" * 5000, "%00"])
def test_a_place_that_is_none_is_refused(seeded: Seeded, place: str) -> None:
    file = seeded.file("placed")
    file.text("x")
    file.store()
    assert seeded.api.get(f"/api/v1/tasks/placed/live?after={place}").status_code == 400

"""Which bytes of which files a reader has been given, and what is new since: the place in a live stream.

Neither time nor arrival can be that place: rows come out of order, again, or late in a gap. What a view shows of a file is
exactly the bytes that its stored ranges cover, so two coverages tell all that appeared between them.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import itertools
import json
import zlib
from collections.abc import Iterable, Mapping

Segment = tuple[int, int, int]  # start, end, revision; of a file: in order, not overlapping, neighbours of one revision joined
MOST_BYTES = 1 << 20  # of a decoded cursor: 20,000 files; refuses one that would inflate without end


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Segments by file id."""

    files: Mapping[str, tuple[Segment, ...]] = dataclasses.field(default_factory=dict)

    def covers(self, file: str, offset: int) -> bool:
        """Whether the byte at `offset` of a file is covered."""
        return any(start <= offset < end for start, end, _ in self.files.get(file, ()))

    def fresh(self, old: Coverage) -> list[tuple[str, int, int]]:
        """(file, start, end) of bytes covered here and not in `old`, one a gap, in order."""
        found = []
        for file, segments in self.files.items():
            known = old.files.get(file, ())
            for start, end, _ in segments:
                at = start
                for known_start, known_end, _ in known:
                    if known_end <= at or known_start >= end:
                        continue
                    if known_start > at:
                        found.append((file, at, known_start))
                    at = max(at, known_end)
                if at < end:
                    found.append((file, at, end))
        return found

    def revised(self, old: Coverage) -> set[str]:
        """Files of which bytes covered in both are of another revision now: their points and events may differ."""
        found = set()
        for file, segments in self.files.items():
            for start, end, revision in segments:
                for known_start, known_end, known_revision in old.files.get(file, ()):
                    if max(start, known_start) < min(end, known_end) and revision != known_revision:
                        found.add(file)
        return found

    def with_bytes(self, file: str, start: int, end: int, now: Coverage) -> Coverage:
        """This and the bytes given, at the revisions that `now` has for them."""
        added = [(max(s, start), min(e, end), r) for s, e, r in now.files[file] if max(s, start) < min(e, end)]
        return Coverage({**self.files, file: folded([*self.files.get(file, ()), *added])})

    def with_revisions(self, files: Iterable[str], now: Coverage) -> Coverage:
        """This, where of the files given the bytes that `now` covers too have its revisions."""
        changed = {
            file: folded(
                (max(start, known_start), min(end, known_end), revision)
                for start, end, revision in now.files[file]
                for known_start, known_end, _ in self.files[file]
            )
            for file in files
        }
        return Coverage({**self.files, **changed})

    def cursor(self) -> str:
        """The text that `from_cursor` reads."""
        packed = json.dumps({file: [list(s) for s in segments] for file, segments in self.files.items()}, separators=(",", ":"))
        return base64.urlsafe_b64encode(zlib.compress(packed.encode(), 9)).decode().rstrip("=")

    @classmethod
    def from_cursor(cls, text: str) -> Coverage:
        """Raises `ValueError` for a text that is no cursor."""
        try:
            inflate = zlib.decompressobj()
            packed = inflate.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), MOST_BYTES)
            files = json.loads(packed)
            return cls(
                {str(file): folded([(int(s), int(e), int(r)) for s, e, r in segments]) for file, segments in files.items()}
            )
        except (binascii.Error, zlib.error, ValueError, TypeError, AttributeError):
            raise ValueError("not a cursor of a live stream") from None


def folded(ranges: Iterable[Segment]) -> tuple[Segment, ...]:
    """Ranges that may overlap, as segments: at each byte the highest revision counts."""
    ranges = [r for r in ranges if r[0] < r[1]]
    borders = sorted({border for start, end, _ in ranges for border in (start, end)})
    segments: list[Segment] = []
    for start, end in itertools.pairwise(borders):
        revision = max((r for s, e, r in ranges if s <= start and end <= e), default=None)
        if revision is None:
            continue
        if segments and segments[-1][1] == start and segments[-1][2] == revision:
            segments[-1] = (segments[-1][0], end, revision)
        else:
            segments.append((start, end, revision))
    return tuple(segments)

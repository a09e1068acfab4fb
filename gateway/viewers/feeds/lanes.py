"""Which of several runs a point of TensorBoard's goes to, so that files of one rank do not hide each other's points. Pure.

TensorBoard's server takes a step that goes back for a restart, and forgets what it has of this curve from there on. Where two
files of one rank and attempt write the same metric by turns, that would be most of what the other one wrote. So each file's curve
rises by itself: a file that another one has overtaken gets a lane of its own. Files that follow each other (a rotated log) share
one.
"""

from __future__ import annotations

from typing import Any


class Lanes:
    """Of one curve: a metric of one rank and attempt."""

    def __init__(self) -> None:
        self._newest: list[tuple[int, str]] = []  # by lane: the newest step, and the file that wrote it
        self._lane: dict[str, int] = {}  # by file

    def place(self, file: str, step: int) -> int:
        """The lane of this file's next point, from 0. A file that goes back by itself does what TensorBoard makes of that."""
        lane = self._lane.get(file)
        if lane is None or (self._newest[lane][1] != file and self._newest[lane][0] >= step):
            fitting = (number for number, (newest, _) in enumerate(self._newest) if newest < step)
            lane = next(fitting, len(self._newest))
        self._newest[lane : lane + 1] = [(step, file)]
        self._lane[file] = lane
        return lane

    def as_data(self) -> list[Any]:
        return [self._newest, self._lane]

    @classmethod
    def of_data(cls, data: Any) -> Lanes:
        """What `as_data` said, after JSON. Raises `ValueError` or `TypeError` for anything else."""
        found = cls()
        newest, lane = data
        found._newest = [(int(step), str(file)) for step, file in newest]
        found._lane = {str(file): int(number) for file, number in dict(lane).items()}
        return found

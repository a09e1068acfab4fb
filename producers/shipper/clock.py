"""The time that a shipper tells others."""

from __future__ import annotations

from collections.abc import Callable


def onward(wall: Callable[[], float]) -> Callable[[], float]:
    """`wall` (seconds since the epoch) that never goes back: while the clock is behind what was told, that is told again.

    Of two words on a file the later one counts, and lines are shown in the order of their messages' times: an end that a clock
    set back by an hour had dated before the heartbeats of that hour would never be seen.
    """
    told = 0.0

    def now() -> float:
        nonlocal told
        told = max(told, wall())
        return told

    return now

"""How often one user may ask: a bucket that fills evenly. Pure: takes `now`."""

from __future__ import annotations


class Rate:
    """At most `a_minute` in a burst, and on average."""

    def __init__(self, a_minute: int) -> None:
        self._full = float(a_minute)
        self._buckets: dict[str, tuple[float, float]] = {}  # user: left, when

    def take(self, user: str, now: float) -> float:
        """0 where it is allowed, else the seconds to wait."""
        left, when = self._buckets.get(user, (self._full, now))
        left = min(left + (now - when) * self._full / 60, self._full)
        if left < 1:
            self._buckets[user] = (left, now)
            return (1 - left) * 60 / self._full
        self._buckets[user] = (left - 1, now)
        if len(self._buckets) > 10_000:  # users who have not asked for a minute have a full bucket anyway
            self._buckets = {u: b for u, b in self._buckets.items() if now - b[1] < 60}
        return 0.0

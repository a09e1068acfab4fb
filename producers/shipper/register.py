"""Which file ids are in use, and which generation comes next."""

from __future__ import annotations

from producers.shipper.identity import file_id


class Register:
    """Generations by key. A key that is gone is remembered for a while, so that its number is not given again."""

    def __init__(self) -> None:
        self._live: dict[str, list[int]] = {}
        self.gone: dict[str, tuple[int, int]] = {}  # key → (highest generation, when; seconds since the epoch)

    def give(self, key: str, *, is_uuid: bool) -> int:
        """Take the next generation of `key`. A uuid is itself: a second file with it is a copy, and keeps it."""
        live = self._live.setdefault(key, [])
        gone = self.gone.get(key)
        if is_uuid:
            generation = max(live, default=0) if gone is None else max(gone[0] + 1, *live, 0)
        else:
            generation = max([-1 if gone is None else gone[0], *live]) + 1
        live.append(generation)
        return generation

    def restore(self, key: str, generation: int) -> None:
        """Take the generation that a checkpoint names."""
        self._live.setdefault(key, []).append(generation)

    def release(self, key: str, generation: int, now: int) -> None:
        """The file is gone; its number is not given again for a while."""
        live = self._live.get(key, [])
        if generation in live:
            live.remove(generation)
        if not live:
            self._live.pop(key, None)
        before = self.gone.get(key, (-1, 0))[0]
        self.gone[key] = (max(before, generation), now)

    def forget(self, before: int) -> bool:
        """Drop what went before that time (seconds since the epoch); says whether there was any."""
        count = len(self.gone)
        self.gone = {key: value for key, value in self.gone.items() if value[1] >= before}
        return len(self.gone) < count

    @staticmethod
    def id(key: str, generation: int) -> str:
        return file_id(key, generation)

"""One answer for all who ask the same."""

from __future__ import annotations

import asyncio

import pytest

from gateway.shared import MOST, Shared


class Source:
    def __init__(self) -> None:
        self.asked = 0
        self.open = asyncio.Event()

    async def __call__(self) -> int:
        self.asked += 1
        asked = self.asked
        await self.open.wait()
        if asked == 3:
            raise ValueError("third")
        return asked


def test_askers_at_once_and_soon_after_share_and_a_failure_is_not_kept() -> None:
    async def scene() -> None:
        now = 0.0
        shared, source = Shared(lambda: now), Source()
        askers = [asyncio.create_task(shared.get("k", 1.0, source)) for _ in range(5)]
        await asyncio.sleep(0)
        askers[0].cancel()  # one leaves, the others stay
        source.open.set()
        assert await asyncio.gather(*askers[1:]) == [1] * 4
        now = 0.9
        assert await shared.get("k", 1.0, source) == 1
        assert await shared.get("other", 1.0, source) == 2
        now = 1.1
        with pytest.raises(ValueError, match="third"):
            await shared.get("k", 1.0, source)
        assert await shared.get("k", 1.0, source) == 4

    asyncio.run(scene())


def test_it_keeps_no_more_than_its_bound() -> None:
    async def scene() -> None:
        shared = Shared(lambda: 0.0)
        for i in range(3 * MOST):
            await shared.get(i, 100.0, lambda: asyncio.sleep(0, None))
        assert len(shared._answers) <= MOST

    asyncio.run(scene())

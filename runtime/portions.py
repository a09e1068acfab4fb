"""Answers of a bounded size: what is asked for is cut where its bytes add up to enough, whatever the size of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
ENOUGH = 8 << 20  # bytes of text in one answer: 32 lines of the longest kind, 256 KiB; 500 usual lines have 50 kB


def portions(things: Iterable[T], size: Callable[[T], int], *, most: int, enough: int = ENOUGH) -> Iterator[list[T]]:
    """`things` in order, in lists of at most `most` and of at most `enough` bytes, or of one that is larger alone."""
    portion: list[T] = []
    held = 0
    for thing in things:
        if portion and (held + size(thing) > enough or len(portion) == most):
            yield portion
            portion, held = [], 0
        portion.append(thing)
        held += size(thing)
    if portion:
        yield portion

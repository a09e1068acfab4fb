"""Which faults strike when: a function of the seed alone, so that a failing run is run again."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of fault. Two faults of a round have different targets, so that neither undoes the other."""

    name: str
    target: str
    seconds: tuple[float, float] = (0.0, 0.0)  # shortest and longest
    first_only: bool = False  # needs a stack that has stored everything
    still: bool = False  # … and strikes while nothing is written
    outage: bool = False  # lasts longer than a minute: once a run, and only in a long one
    not_with: frozenset[str] = frozenset()  # targets


KINDS = {
    kind.name: kind
    for kind in (
        Kind("kill shipper", "shipper", (0.0, 4.0)),
        Kind("stop shipper", "shipper", (1.0, 6.0)),
        Kind("restart shipper", "shipper", (0.0, 2.0)),
        Kind("lose checkpoint", "shipper", (0.0, 1.0), first_only=True, not_with=frozenset({"files", "disk"})),
        Kind("full disk", "disk", (2.0, 6.0)),
        Kind("kill worker", "worker", (0.0, 3.0)),
        Kind("zombie worker", "worker", (11.0, 14.0)),  # the session is 10 s
        Kind("stop worker", "worker", (1.0, 6.0)),
        Kind("worker joins", "worker", (6.0, 12.0)),
        Kind("worker leaves", "worker", (2.0, 8.0)),
        Kind("kill broker", "broker", (0.0, 2.0)),
        Kind("restart broker", "broker", (0.0, 2.0)),
        Kind("stop broker", "broker", (1.0, 6.0)),
        Kind("kill store", "store", (0.0, 3.0)),
        Kind("restart store", "store", (0.0, 3.0)),
        Kind("stop store", "store", (1.0, 6.0)),
        Kind("cut shipper from broker", "shipper link", (0.5, 5.0)),
        Kind("delay shipper to broker", "shipper link", (3.0, 8.0)),
        Kind("lose broker answers", "shipper link", (2.0, 5.0)),
        Kind("cut worker from broker", "worker link", (0.5, 5.0)),
        Kind("delay worker to broker", "worker link", (3.0, 8.0)),
        Kind("cut worker from store", "store link", (0.5, 5.0)),
        Kind("delay worker to store", "store link", (3.0, 8.0)),
        Kind("lose store answers", "store link", (2.0, 5.0)),
        Kind("rename", "files"),
        Kind("rename chain", "files", (1.0, 2.0)),
        Kind("copytruncate", "files", (0.0, 0.3)),
        Kind("replace", "files"),
        Kind("rewrite", "files"),
        Kind("truncate", "files", first_only=True, still=True),
        # A deleted file lives in the shipper's open handle alone: whoever kills the shipper then loses it by right.
        Kind(
            "delete while behind", "files", (1.0, 5.0), first_only=True, not_with=frozenset({"shipper", "shipper link", "broker"})
        ),
        Kind("poison", "broker input", first_only=True),
        Kind("broker away", "broker", (70.0, 120.0), outage=True),
        Kind("store away", "store", (70.0, 120.0), outage=True),
    )
}
LONG_RUN = 6.0  # min, from which on outages are planned: two of two minutes leave two for all else
OUTAGES = ((2, 5), (6, 10))  # numbers of the rounds of which one is an outage: 10 rounds are over after 6 min with it
SECOND = 0.8  # share of rounds with a second fault: so five of nine strike a stack that has stored everything
FLOW = 1.5  # s within which the first strikes after lines flow again: a stack with nothing to do is easily killed
SPREAD = 3.0  # s after the first within which the second strikes


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    delay: float  # s after the round began
    seconds: float  # how long it lasts
    seed: int  # for what else is chosen: the victim, the place

    @property
    def target(self) -> str:
        return KINDS[self.kind].target


@dataclasses.dataclass(frozen=True)
class Round:
    """`first` strikes when everything written before was stored, and lines flow; `second` in its midst."""

    first: Fault
    second: Fault | None


def plan(seed: int, names: tuple[str, ...] = tuple(KINDS), *, minutes: float = 0.0) -> Iterator[Round]:
    """Rounds without end. Kinds come from shuffled decks, so that all are equally frequent; of outages each comes once, in a run
    of so many minutes that there is room for them."""
    chance, kinds = random.Random(seed), [KINDS[name] for name in names if not KINDS[name].outage]
    firsts, seconds = _deck(chance, kinds), _deck(chance, [kind for kind in kinds if not kind.first_only])
    outages = _outages(seed, names) if minutes >= LONG_RUN else {}
    for number in itertools.count():
        if outage := outages.get(number):
            other = next(kind for kind in seconds if kind.target != outage.target)
            yield Round(outage, _fault(chance, other, chance.uniform(0.0, outage.seconds / 2)))
            continue
        first = next(firsts)
        second = next(seconds) if chance.random() < SECOND else None
        while second is not None and (second.target == first.target or second.target in first.not_with):
            second = next(seconds)
        at = 0.0 if first.first_only else chance.uniform(0.0, FLOW)
        later = None if second is None else _fault(chance, second, at + chance.uniform(0.0, SPREAD))
        yield Round(_fault(chance, first, at), later)


def _outages(seed: int, names: tuple[str, ...]) -> dict[int, Fault]:
    """By the number of their round, in any order."""
    chance = random.Random(seed)
    kinds = [KINDS[name] for name in names if KINDS[name].outage]
    chance.shuffle(kinds)
    return {chance.randint(*numbers): _fault(chance, kind, FLOW) for numbers, kind in zip(OUTAGES, kinds, strict=False)}


def _deck(chance: random.Random, kinds: list[Kind]) -> Iterator[Kind]:
    while True:
        yield from chance.sample(kinds, len(kinds))


def _fault(chance: random.Random, kind: Kind, delay: float) -> Fault:
    return Fault(kind.name, round(delay, 3), round(chance.uniform(*kind.seconds), 3), chance.randrange(1 << 30))

"""Who looks at a viewer, and what follows from it. Pure: every method takes `now`, seconds of a clock that never jumps.

Presence is a person. A page in the foreground is one; so is a stream or a download that is open, and a request of somebody who
has no page open (a script). Requests of somebody whose pages are all in the background are not: tools reload by themselves. A
tool's page does not say whose it is: its requests are nobody's while all pages are in the background.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from gateway.viewers.settings import LifeSettings
from gateway.viewers.words import PolicyKind

# A page says that it is there every 15 s; browsers let a page in the background do so once a minute. Two of those and a bit.
PAGE_SILENCE = 130.0
# Between closing a page and opening it anew (a reload) lie one to two seconds. Below the 5 s that `offline` promises.
RELOAD = 2.5
# A request that is open for longer than this is somebody's download or stream; reloads of a tool take less.
LONG = 5.0
# Longer between two looks than this, and the gateway itself was held up or stopped: silence then proves nothing.
HELD_UP = 20.0


@dataclasses.dataclass(frozen=True)
class Policy:
    """When a viewer goes. Seconds."""

    kind: PolicyKind
    offline: float
    idle: float
    warn: float
    cap: float

    @classmethod
    def of(cls, kind: PolicyKind, life: LifeSettings) -> Policy:
        return cls(kind, life.offline_seconds, life.idle_seconds, life.warn_seconds, life.cap_seconds)


@dataclasses.dataclass(frozen=True)
class Decision:
    """What is to happen now, why, and when the viewer will go if nothing changes (None: nothing but the cap ends it)."""

    action: Literal["keep", "warn", "release"]
    reason: str
    seconds_left: float


@dataclasses.dataclass(frozen=True)
class Note:
    """What one replica says of a viewer: a counter that moves while it lives, pages open, seconds since somebody was there."""

    counter: int
    pages: int
    idle: float


@dataclasses.dataclass
class _Page:
    user: str
    opened: float
    visible: bool
    heard: float
    connections: int = 0  # its live streams: it is open as long as one is; in the background it has none
    looked: float = 0.0  # seconds in the foreground
    looking_since: float | None = None


@dataclasses.dataclass
class _Stream:
    user: str | None
    began: float
    counts: bool  # False: the tool's own chatter, or too short yet


@dataclasses.dataclass
class _Heard:
    note: Note
    changed: float


class Presence:
    """The state of one viewer's presence in this gateway, and what other replicas said."""

    def __init__(self, policy: Policy, now: float) -> None:
        self.policy = policy
        self._born = now
        self._cap_from = now
        self._seen = now  # somebody was last there
        self._attended = now  # a page or stream was last open
        self._closed: float | None = None  # the last page closed, by its own word
        self._ever_opened = False
        self._looked_at: float = now  # of `decide`
        self._pages: dict[str, _Page] = {}
        self._left: dict[str, float] = {}  # pages that closed by their own word: a word that comes late opens none again
        self._streams: dict[int, _Stream] = {}
        self._others: dict[str, _Heard] = {}
        self._next_stream = 0
        self._warned = False

    # -- what happens ------------------------------------------------------------------------------------------------

    def page(self, page: str, user: str, visible: bool, now: float) -> bool:
        """A page says that it is open. True when it was not known before."""
        if page in self._left:
            return False
        new = page not in self._pages
        one = self._pages.setdefault(page, _Page(user, now, visible, now))
        one.heard, one.visible = now, visible
        self._ever_opened = True
        self._closed = None
        self._attended = now
        self._count_looking(one, now)
        if visible:
            self._seen = now
        return new

    def connect(self, page: str, user: str, now: float) -> bool:
        """A page's live stream opened: the page is open until `disconnect`. True when it was not known before."""
        new = self.page(page, user, self._pages[page].visible if page in self._pages else True, now)
        if page in self._pages:
            self._pages[page].connections += 1
        return new

    def disconnect(self, page: str, now: float) -> None:
        """Its live stream broke. A page that is still open connects again in a moment, or its next word comes.

        A page in the background ends its stream itself, and goes on saying that it is there.
        """
        if one := self._pages.get(page):
            one.connections = max(one.connections - 1, 0)
            if one.connections == 0 and one.visible:
                # A closed tab ends the stream at once, a network's hiccup too: what is left is the time to come back.
                one.heard = min(one.heard, now - PAGE_SILENCE + RELOAD * 2)

    def close(self, page: str, now: float) -> float | None:
        """A page says that it closes. Seconds that it was in the foreground; None where it was not known."""
        one = self._pages.pop(page, None)
        self._left[page] = now
        if one is None:
            return None
        self._count_looking(one, now)
        self._attended = now
        if not self._pages:
            self._closed = now
        return one.looked

    def begin(self, user: str | None, now: float, *, chatter: bool = False) -> int:
        """A request through the proxy began (`user` None: of a tool's page); returns its number for `end`."""
        self._next_stream += 1
        self._streams[self._next_stream] = _Stream(user, now, not chatter)
        if not chatter:
            self._asked(user, now)
        return self._next_stream

    def end(self, number: int, now: float) -> None:
        one = self._streams.pop(number, None)
        if one is not None and one.counts:
            self._asked(one.user, now)
            if now - one.began > LONG:
                self._seen = self._attended = now

    def stay(self, now: float) -> None:
        """Somebody said that they stay, or asked for the viewer again."""
        self._seen = self._attended = now
        self._warned = False

    def extend(self, now: float) -> None:
        """The absolute cap counts from now."""
        self._cap_from = now
        self.stay(now)

    def hear(self, replica: str, note: Note, now: float) -> None:
        """What another replica says; only a counter that moves proves that it lives: its clock is not asked."""
        known = self._others.get(replica)
        if known is None or known.note.counter != note.counter:
            self._others[replica] = _Heard(note, now)
            if note.pages:
                self._attended = now
                self._ever_opened = True
            self._seen = max(self._seen, now - note.idle)

    # -- what follows ------------------------------------------------------------------------------------------------

    def decide(self, now: float) -> Decision:
        """Ask at least every few seconds. Keeps count of what it told: `warn` comes once an approach."""
        self._settle(now)
        if now - self._cap_from >= self.policy.cap:
            return Decision("release", "cap: the longest life is over, and nobody extended it", 0.0)
        left, reason = self.policy.cap - (now - self._cap_from), "cap: the longest life is nearly over"
        if self.policy.kind == "offline":
            if (gone := self._offline_for(now)) is not None and gone >= (RELOAD if self._closed else self.policy.offline):
                return Decision("release", "offline: its last page closed", 0.0)
        elif self.policy.kind == "threshold":
            if (gone := self._offline_for(now)) is not None:
                soonest = self.policy.offline - gone
                why = f"offline: no page was open for {self.policy.offline:.0f} s"
            elif not self._present(now):
                soonest = self.policy.idle - (now - self._seen)
                why = f"idle: nobody looked for {self.policy.idle:.0f} s"
            else:
                soonest, why = left, reason
            if soonest <= 0:
                return Decision("release", why, 0.0)
            if soonest < left:
                left, reason = soonest, why
        if left <= self.policy.warn:
            first, self._warned = not self._warned, True
            return Decision("warn" if first else "keep", reason, left)
        self._warned = False
        return Decision("keep", "in use" if self._present(now) else "waiting", left)

    @property
    def warned(self) -> bool:
        return self._warned

    def in_use(self, now: float) -> bool:
        """Somebody is there now, here or at another replica."""
        return self._present(now) or any(heard.note.pages and heard.note.idle < LONG for heard in self._live_others(now))

    def idle_for(self, now: float) -> float:
        """Seconds since somebody was there."""
        return 0.0 if self._present(now) else now - self._seen

    def pages(self) -> int:
        return len(self._pages)

    def users(self) -> Mapping[str, int]:
        """Open pages by user."""
        found: dict[str, int] = {}
        for page in self._pages.values():
            found[page.user] = found.get(page.user, 0) + 1
        return found

    def note(self, counter: int, now: float) -> Note:
        """What this replica tells the others."""
        return Note(counter, len(self._pages) + len(self._long_streams(now)), round(self.idle_for(now), 1))

    def looked(self, now: float) -> dict[str, float]:
        """Seconds that each user of an open page has had it in the foreground."""
        found: dict[str, float] = {}
        for page in self._pages.values():
            self._count_looking(page, now)
            found[page.user] = found.get(page.user, 0.0) + page.looked
        return found

    def _settle(self, now: float) -> None:
        gap = now - self._looked_at
        self._looked_at = now
        if gap > HELD_UP:
            # Nobody could be heard meanwhile: the silence is ours, and nobody's absence.
            for page in self._pages.values():
                page.heard = min(page.heard + gap, now)
            for heard in self._others.values():
                heard.changed = min(heard.changed + gap, now)
            self._seen = min(self._seen + gap, now)
            self._attended = min(self._attended + gap, now)
            self._cap_from = min(self._cap_from + gap, now)
            if self._closed is not None:
                self._closed = min(self._closed + gap, now)
        self._left = {name: when for name, when in self._left.items() if now - when < PAGE_SILENCE}
        for name, page in list(self._pages.items()):
            if page.connections == 0 and now - page.heard > PAGE_SILENCE:
                self.close(name, now)
        if self._present(now):
            self._seen = now
        if self._pages or self._long_streams(now):
            self._attended = now

    def _present(self, now: float) -> bool:
        return any(page.visible for page in self._pages.values()) or bool(self._long_streams(now))

    def _long_streams(self, now: float) -> list[_Stream]:
        return [stream for stream in self._streams.values() if stream.counts and now - stream.began > LONG]

    def _offline_for(self, now: float) -> float | None:
        """Seconds without any page or stream anywhere; None while there is one."""
        if (
            self._pages
            or any(one.counts for one in self._streams.values())
            or any(heard.note.pages for heard in self._live_others(now))
        ):
            return None
        return now - self._attended

    def _live_others(self, now: float) -> list[_Heard]:
        # A replica that is silent for an idle limit is gone, or so cut off that nobody reaches the viewer through it.
        return [heard for heard in self._others.values() if now - heard.changed < max(self.policy.idle, 60.0)]

    def _asked(self, user: str | None, now: float) -> None:
        pages = [page for page in self._pages.values() if user in (None, page.user)]
        if not pages or any(page.visible for page in pages):
            self._seen = now
            if not pages:
                self._attended = now

    def _count_looking(self, page: _Page, now: float) -> None:
        if page.looking_since is not None:
            page.looked += max(now - page.looking_since, 0.0)
        page.looking_since = now if page.visible else None

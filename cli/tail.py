"""`trainwirectl tail`: a task's newest lines and metrics, and with `--follow` all that comes after."""

from __future__ import annotations

import itertools
import time
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from cli import words
from cli.reader import open_reader
from gateway.feed import Feed, Message, coverage
from gateway.queries.curves import metric_names
from gateway.queries.lines import newest_lines
from gateway.queries.tasks import task_state
from gateway.store import Query
from runtime.errors import PermanentError, TemporaryError
from runtime.retry import Backoff

INTERVAL = 0.3  # seconds between two looks
QUIET = ("progress", "params")  # events that are not worth a line
ENDED = ("succeeded", "failed", "stopped", "ended")


@click.command("tail", help="Show the newest lines and metrics of TASK; give several to follow them together.")
@click.argument("task", nargs=-1, required=True)
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(0, 5000), help="Lines to begin with.")
@click.option("--lines", "only_lines", is_flag=True, help="Only lines.")
@click.option("--metrics", "only_metrics", is_flag=True, help="Only metrics.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the tasks end, or Ctrl-C.")
def command(task: tuple[str, ...], count: int, only_lines: bool, only_metrics: bool, follow: bool) -> None:
    query = open_reader()
    view = View(several=len(task) > 1, lines=not only_metrics, metrics=not only_lines)
    try:
        feeds = [begin(query, name, view, count, wait=follow) for name in task]
        if follow:
            follow_all(query, feeds, view)
    except KeyboardInterrupt:
        click.echo(err=True)  # behind the terminal's ^C


def begin(query: Query, task: str, view: View, count: int, *, wait: bool) -> Feed:
    """Show what there is of a task. A task that nobody knows yet is waited for when following."""
    told = False
    while (state := task_state(query, task)) is None:
        if not wait:
            raise PermanentError(f"no task {task!r}: see `trainwirectl tasks`, or wait for it with --follow")
        if not told:
            click.echo(f"waiting for task {task!r}", err=True)
            told = True
        time.sleep(INTERVAL)
    feed = Feed(task, coverage(query, task))
    view.state(task, state)
    if view.lines and count:
        for line in newest_lines(query, task, count):
            if feed.coverage.covers(line["file_id"], line["offset"]):  # what came since is the feed's to show
                view.line(task, line)
    if view.metrics:
        view.points(
            task,
            [{"name": one["name"], "value": one["value"], "step": one["step"], "rank": 0} for one in metric_names(query, task)],
        )
    return feed


def follow_all(query: Query, feeds: list[Feed], view: View) -> None:
    backoff, failures = Backoff(), 0
    open_feeds = list(feeds)
    ended: set[str] = set()  # a task's last words can be stored between a look and the question for its state: one more look
    while open_feeds:
        busy = False
        try:
            for feed in list(open_feeds):
                if message := feed.look(query):
                    busy |= message.more
                    view.message(feed.task_id, message)
                elif view.quiet(feed.task_id) and (state := task_state(query, feed.task_id)):
                    view.state(feed.task_id, state)
                    if state["status"] not in ENDED:
                        ended.discard(feed.task_id)
                    elif feed.task_id in ended:
                        open_feeds.remove(feed)
                    else:
                        ended.add(feed.task_id)
            failures = 0
        except TemporaryError as error:
            failures += 1
            if failures == 1:
                click.echo(f"{error} (trying again)", err=True)
            time.sleep(backoff.wait(failures))
        if not busy and open_feeds:
            time.sleep(INTERVAL)


class View:
    """Writes to the terminal: colour and brevity for people, plain and whole lines when piped."""

    QUIET_AFTER = 1.0  # seconds without anything new until the state is asked for: a task that ended writes no more

    def __init__(self, *, several: bool, lines: bool, metrics: bool) -> None:
        self.lines, self.metrics, self._several = lines, metrics, several
        self._console = Console(highlight=False, soft_wrap=True)
        self._styles: dict[str, str] = {}
        self._free = itertools.cycle(("cyan", "magenta", "green", "yellow", "blue"))
        self._status: dict[str, str] = {}
        self._came: dict[str, float] = {}

    def message(self, task: str, message: Message) -> None:
        self._came[task] = time.monotonic()
        if self.lines:
            for line in message.lines:
                if line["kind"] != "record":
                    self.line(task, line)
        if self.metrics:
            for _, group in itertools.groupby(message.points, key=lambda point: (point["file_id"], point["offset"])):
                self.points(task, list(group))
        for event in message.events:
            if event["kind"] not in QUIET:
                self._say(task, Text(f"{event['kind']} {_words(event)}".rstrip(), "bold"))

    def quiet(self, task: str) -> bool:
        """Whether it is time to ask for the state; then not again for a while."""
        now = time.monotonic()
        if now - self._came.get(task, 0.0) < self.QUIET_AFTER:
            return False
        self._came[task] = now
        return True

    def state(self, task: str, state: dict[str, Any]) -> None:
        """One line when the status is another one."""
        if self._status.get(task) == state["status"]:
            return
        self._status[task] = state["status"]
        told = [state["status"], words.progress(state["progress_done"], state["progress_total"]), state["message"]]
        self._say(task, Text(words.harmless(" ".join(part for part in told if part)), "bold"))

    def line(self, task: str, line: dict[str, Any]) -> None:
        self._say(task, Text(words.harmless(line["text"])))

    def points(self, task: str, points: list[dict[str, Any]]) -> None:
        """Values that one line said, as one line."""
        if not points:
            return
        step = points[0]["step"]
        text = Text(f"step {step}  " if step is not None else "", "dim")
        for point in points:
            text.append(f"{words.harmless(point['name'])}=", "dim")
            finite = abs(point["value"]) < float("inf")  # False for NaN too
            text.append(words.number(point["value"]) + "  ", "" if finite else "bold red")
        if points[0]["rank"]:
            text.append(f"rank {points[0]['rank']}", "dim")
        self._say(task, text)

    def _say(self, task: str, text: Text) -> None:
        text.rstrip()
        if self._several:
            style = self._styles.setdefault(task, "") or next(self._free)
            self._styles[task] = style
            text = Text.assemble((task, style), " ", text)
        self._console.print(text)


def _words(event: dict[str, Any]) -> str:
    fields = event["fields"]
    told = [fields.get("status", ""), event["message"]]
    if fields.get("code") not in (None, "", "0"):
        told.append(f"exit code {fields['code']}")
    return words.harmless(" ".join(part for part in told if part))

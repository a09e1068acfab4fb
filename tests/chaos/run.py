"""One run: rounds of faults over the whole stack while log files grow; then, is anything lost or doubled?"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from deploy.demo.check import Query
from tests.chaos.faults import Scene, Strike, folder_of, inject
from tests.chaos.journal import FORMS, Script
from tests.chaos.plan import KINDS, Round
from tests.chaos.programs import Stage
from tests.chaos.verdict import Verdict, judge, stored_bytes
from tests.chaos.writer import LogFile, Writer

CATCH_UP = 120.0  # s without any progress after which the stack is not going to store what is missing


@dataclasses.dataclass
class Report:
    verdict: Verdict
    faults: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    healthy: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # of them, at lag 0
    ended_by_themselves: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not self.verdict.faults and not self.verdict.lost and not self.verdict.doubled


def run(folder: Path, seed: int, rounds: Iterable[Round], *, rate: float, tasks: int, say: Callable[[str], None]) -> Report:
    """Rounds until they end, then everything is waited for and compared. The folder keeps logs of all programs."""
    logs = folder / "logs"
    stage = Stage(folder, logs)
    scripts, files = _files(logs, seed, tasks)
    writer = Writer(files, rate)
    report = Report(Verdict())
    scene = Scene(stage, writer, scripts, seed)
    try:
        stage.start()
        query = _query(stage)
        writer.start()
        writer.resume()
        for number, round_ in enumerate(rounds):
            writer.pause()
            healthy = _caught_up(query, scene, say)
            _strike(scene, round_, number, healthy, report, say)
        writer.stop()
        stage.heal()
        caught_up = _caught_up(query, scene, say)
        report.verdict = judge(query, scripts, scene.poison)
        if not caught_up:
            report.verdict.faults.append(f"not everything was stored after {CATCH_UP:.0f} s without progress")
        report.ended_by_themselves = {p.name: p.ended_by_itself for p in stage.programs if p.ended_by_itself}
        return report
    finally:
        for file in files:
            file.close()
        stage.close()


def _files(logs: Path, seed: int, tasks: int) -> tuple[list[Script], list[LogFile]]:
    scripts, files = [], []
    endings = {"table": "csv", "record": "jsonl"}
    for number, form in itertools.product(range(tasks), FORMS):
        script = Script(f"chaos-{seed}-{number}", form, form, seed)
        folder = folder_of(logs, form) / script.task
        folder.mkdir(parents=True, exist_ok=True)
        scripts.append(script)
        files.append(LogFile(folder / f"{form}.{endings.get(form, 'log')}", script, seed))
    return scripts, files


def _strike(scene: Scene, round_: Round, number: int, healthy: bool, report: Report, say: Callable[[str], None]) -> None:
    """One round. The writer is paused, and goes on."""
    faults = [fault for fault in (round_.first, round_.second) if fault is not None]
    if KINDS[round_.first.kind].still:
        if healthy:
            inject(scene, round_.first)
        else:  # what nobody had read would be gone by right
            faults.remove(round_.first)
    scene.writer.resume()
    say(f"round {number}: " + ", ".join(f"{fault.kind} (at {fault.delay:.1f} s for {fault.seconds:.1f} s)" for fault in faults))
    strikes = [Strike(scene, fault) for fault in faults if not KINDS[fault.kind].still]
    report.faults.update(fault.kind for fault in faults)
    report.healthy[round_.first.kind] += healthy
    for strike in strikes:
        strike.done()


def _caught_up(query: Query, scene: Scene, say: Callable[[str], None]) -> bool:
    """Wait until everything written is stored; False when nothing more comes. The writer is paused."""
    written = sum(script.size for script in scene.scripts)
    began = time.monotonic()
    last, since = -1, began
    while True:
        try:
            stored = stored_bytes(query)
        except OSError:  # the store is away
            stored = last
        now = time.monotonic()
        if stored == written:
            say(f"  all {written} bytes stored after {now - began:.1f} s")
            return True
        if stored != last:
            last, since = stored, now
        if now - since > CATCH_UP:
            say(f"  {stored} of {written} bytes stored, and no progress for {CATCH_UP:.0f} s")
            return False
        time.sleep(0.2)


def _query(stage: Stage) -> Query:
    return Query(stage.stack.clickhouse_url, "viewer", stage.stack.password("viewer"), "trainwire")

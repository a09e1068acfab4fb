"""`trainwire run -- CMD…` and `trainwire log …`. Exit codes: 2 wrong call, 1 record not written, else the command's."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from trainwire import records
from trainwire.identity import Identity, resolve
from trainwire.run import DEFAULT_DIR, tell
from trainwire.version import __version__


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        identity = _identity(options)
        return _run(options, identity) if options.verb == "run" else _log(options, identity)
    except ValueError as error:
        tell(f"trainwire {options.verb}: {error}")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trainwire", description="Write what a training task does to a local file.")
    parser.add_argument("--version", action="version", version=f"trainwire {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="run | log")
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("which task", "what is not given comes from TRAINWIRE_*, torchrun, Slurm or JobSet")
    group.add_argument("--task", metavar="ID", help="task id (TRAINWIRE_TASK_ID)")
    group.add_argument("--name", help="free text beside the id (TRAINWIRE_NAME)")
    group.add_argument("--dir", help=f"folder of the log files (TRAINWIRE_LOG_DIR; else ./{DEFAULT_DIR})")
    group.add_argument("--rank", type=int, help="number of this process (TRAINWIRE_RANK)")
    group.add_argument("--world-size", type=int, help="how many processes (TRAINWIRE_WORLD_SIZE)")
    group.add_argument("--attempt", type=int, help="number of this try, from 1 (TRAINWIRE_ATTEMPT)")
    group.add_argument("--start-id", metavar="ID", help="names this start of the process (TRAINWIRE_START_ID)")
    group.add_argument("--owner", help="whose task it is (TRAINWIRE_OWNER)")
    group.add_argument("--project", help="what it belongs to (TRAINWIRE_PROJECT)")
    group.add_argument(
        "--pattern",
        action="append",
        metavar="REGEX",
        help="how to read lines of the file that no rule can, as `zorp~(?P<zorp>[0-9.]+)`; may be repeated"
        " (TRAINWIRE_TASK_PATTERNS: one a line)",
    )
    group.add_argument("--framework", help="what it trains with: lightning, xgboost, … (TRAINWIRE_FRAMEWORK)")

    run = verbs.add_parser(
        "run",
        parents=[common],
        help="run a training command and record its output and its end",
        description="Run a command with a log file as its stdout and stderr, show it here, and keep its exit code "
        "(128 + n after signal n; 126 not executable, 127 not found).",
        usage="trainwire run [options] -- CMD [ARG …]",
    )
    run.add_argument("--quiet", action="store_true", help="do not show the output here")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD", help="the command and its arguments")

    log = verbs.add_parser(
        "log",
        parents=[common],
        help="append one record, from any language",
        description="Append records to the task's own file. All calls with one TRAINWIRE_START_ID are one start.",
        usage="trainwire log [options] [NAME=NUMBER …]",
    )
    log.add_argument("--step", metavar="N", help="step of the metrics")
    log.add_argument("--epoch", metavar="X", help="epoch of the metrics")
    log.add_argument("--progress", metavar="DONE[/TOTAL]", help="how far the task is")
    log.add_argument("--unit", help="of the progress: step, epoch, …")
    log.add_argument("--status", metavar="WORD", help="running, succeeded, failed, stopped, or another word")
    log.add_argument("--event", metavar="KIND", help="something happened")
    log.add_argument("--message", help="text of the event or status")
    log.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter; may be repeated")
    log.add_argument("metrics", nargs="*", metavar="NAME=NUMBER", help="metrics; nan, inf and -inf are numbers")
    return parser


def _identity(options: argparse.Namespace) -> Identity:
    return resolve(
        os.environ,
        task_id=options.task,
        name=options.name,
        start_id=options.start_id,
        attempt=options.attempt,
        rank=options.rank,
        world_size=options.world_size,
        owner=options.owner,
        project=options.project,
        framework=options.framework,
        patterns=options.pattern,
    )


def _folder(options: argparse.Namespace) -> Path:
    return Path(options.dir or os.environ.get("TRAINWIRE_LOG_DIR") or DEFAULT_DIR).absolute()


def _run(options: argparse.Namespace, identity: Identity) -> int:
    from trainwire import wrapper  # Linux only; `trainwire log` needs none of it

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise ValueError("which command? trainwire run --task ID -- CMD …")
    return wrapper.run(command, identity, _folder(options), os.environ, quiet=options.quiet)


def _log(options: argparse.Namespace, identity: Identity) -> int:
    from trainwire import append

    lines = _lines(options)
    known = bool(options.start_id or os.environ.get("TRAINWIRE_START_ID"))
    path = append.path_of(identity, _folder(options), start_known=known)
    try:
        append.append(path, identity, lines, _now)
    except OSError as error:
        tell(f"trainwire log: not recorded, {path}: {error.strerror}")
        return 1
    return 0


def _lines(options: argparse.Namespace) -> List[str]:
    """The records that the call asks for. Raises ValueError."""
    now, refused = _now(), []  # type: Tuple[int, records.Refused]
    lines: List[str] = []
    if options.param:
        lines += records.params(now, {name: _guess(text) for name, text in map(_pair, options.param)}, refused)
    if options.metrics:
        step = None if options.step is None else _number("--step", options.step)
        epoch = None if options.epoch is None else _number("--epoch", options.epoch)
        metrics = {name: _number(name, text) for name, text in map(_pair, options.metrics)}
        lines += records.log(now, step, epoch, metrics, refused)
    if options.progress:
        done, _, total = options.progress.partition("/")
        lines += records.progress(
            now, _number("--progress", done), _number("--progress", total) if total else None, options.unit, refused
        )
    if options.event:
        lines.append(records.event(now, options.event, options.message, {}, refused))
    if options.status:
        lines.append(records.status(now, options.status, message=None if options.event else options.message))
    if refused:
        raise ValueError("; ".join(f"{what}: {why}" for what, why in refused))
    if not lines:
        raise ValueError("nothing to record: give NAME=NUMBER, --progress, --status, --event or --param")
    return lines


def _pair(word: str) -> Tuple[str, str]:
    name, equals, text = word.rpartition("=")
    if not equals or not name:
        raise ValueError(f"{word!r} is not NAME=VALUE")
    return name, text


def _number(what: str, text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{what}: {text!r} is not a number")


def _guess(text: str) -> Any:
    """A parameter's value: a finite number where it is written as one, else the text."""
    known: Dict[str, Any] = {"true": True, "false": False}
    if text in known:
        return known[text]
    try:
        number = _number("", text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _now() -> int:
    return int(time.time() * 1000)


if __name__ == "__main__":
    sys.exit(main())

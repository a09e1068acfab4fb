"""Which task, start, attempt and rank this process is: arguments first, then the environment.

Sources: TRAINWIRE_* as given; torchrun (RANK, WORLD_SIZE, TORCHELASTIC_RESTART_COUNT); Slurm (SLURM_PROCID, SLURM_NTASKS,
SLURM_RESTART_COUNT); Kubernetes (JOB_COMPLETION_INDEX of an indexed Job, JOBSET_RESTART_ATTEMPT as a JobSet's manifest hands
its annotation down). The launchers count restarts from 0; attempts count from 1.
"""

from __future__ import annotations

import re
import uuid
import zlib
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Sequence, Tuple

NAME_RULE = "1 to 128 of A-Z a-z 0-9 . _ : - and first a letter or digit"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_HEX8 = re.compile(r"[0-9a-f]{8}", re.ASCII)

_RANK = ("RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS")
_RESTARTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", "JOBSET_RESTART_ATTEMPT")


@dataclass(frozen=True)
class Identity:
    """What the header record says about the process. `attempt` is None where nothing counts restarts."""

    task: str
    start: str
    attempt: Optional[int] = None
    rank: int = 0
    world: int = 1
    name: Optional[str] = None
    owner: Optional[str] = None
    project: Optional[str] = None
    framework: Optional[str] = None
    patterns: Tuple[str, ...] = ()  # how to read the file's other lines
    explicit: Tuple[Tuple[str, str], ...] = ()  # what arguments and TRAINWIRE_* said, as environment for a child process

    def stem(self) -> str:
        """First part of the log files' names: `<task>.a<attempt>.r<rank>.<start8>`; attempt 0 says "not known"."""
        short = self.start[:8] if _HEX8.fullmatch(self.start[:8]) else f"{zlib.crc32(self.start.encode()):08x}"
        return f"{self.task}.a{self.attempt or 0}.r{self.rank}.{short}"

    def environment(self) -> Dict[str, str]:
        """Variables that make an SDK call in a child process say the same task and start.

        Rank and attempt only where they were given to us: a launcher in between (torchrun under `trainwire run`) knows
        better, and its workers must not all become rank 0.
        """
        return {**dict(self.explicit), "TRAINWIRE_TASK_ID": self.task, "TRAINWIRE_START_ID": self.start}


def resolve(
    environ: Mapping[str, str],
    *,
    task_id: Optional[str] = None,
    name: Optional[str] = None,
    start_id: Optional[str] = None,
    attempt: Optional[int] = None,
    rank: Optional[int] = None,
    world_size: Optional[int] = None,
    owner: Optional[str] = None,
    project: Optional[str] = None,
    framework: Optional[str] = None,
    patterns: Optional[Sequence[str]] = None,
) -> Identity:
    """The identity of this process. Raises ValueError, saying what is allowed, for a wrong argument or TRAINWIRE_* variable."""
    task = task_id if task_id is not None else environ.get("TRAINWIRE_TASK_ID") or None
    if task is None:
        raise ValueError(f"which task is this? Give a task id or set TRAINWIRE_TASK_ID ({NAME_RULE})")
    start = start_id if start_id is not None else environ.get("TRAINWIRE_START_ID") or None
    given: Dict[str, str] = {}
    number = {
        "TRAINWIRE_ATTEMPT": _own_number(environ, "TRAINWIRE_ATTEMPT", attempt, least=1),
        "TRAINWIRE_RANK": _own_number(environ, "TRAINWIRE_RANK", rank, least=0),
        "TRAINWIRE_WORLD_SIZE": _own_number(environ, "TRAINWIRE_WORLD_SIZE", world_size, least=1),
    }
    given.update({key: str(value) for key, value in number.items() if value is not None})
    words = {
        "TRAINWIRE_NAME": name,
        "TRAINWIRE_OWNER": owner,
        "TRAINWIRE_PROJECT": project,
        "TRAINWIRE_FRAMEWORK": framework,
    }
    texts = {key: value if value is not None else environ.get(key) or None for key, value in words.items()}
    given.update({key: str(value) for key, value in texts.items() if value is not None})

    if patterns is None:  # the shipper's setting of this name has one a line, too
        patterns = [line.strip() for line in environ.get("TRAINWIRE_TASK_PATTERNS", "").splitlines() if line.strip()]
    found_rank = number["TRAINWIRE_RANK"]
    if found_rank is None:
        found_rank = _foreign_number(environ, _RANK)
    found_world = number["TRAINWIRE_WORLD_SIZE"] or _foreign_number(environ, _WORLD) or 1
    found_attempt = number["TRAINWIRE_ATTEMPT"]
    if found_attempt is None:
        restarts = _foreign_number(environ, _RESTARTS)
        found_attempt = None if restarts is None else restarts + 1
    return Identity(
        task=checked_name("task id", task),
        start=checked_name("start id", start) if start is not None else str(uuid.uuid4()),
        attempt=found_attempt,
        rank=found_rank or 0,
        world=found_world,
        name=texts["TRAINWIRE_NAME"],
        owner=texts["TRAINWIRE_OWNER"],
        project=texts["TRAINWIRE_PROJECT"],
        framework=texts["TRAINWIRE_FRAMEWORK"],
        patterns=tuple(map(str, patterns)),
        explicit=tuple(sorted(given.items())),
    )


def checked_name(what: str, value: object) -> str:
    """`value` if it may name a task or start, else ValueError."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{what} {value!r} is not allowed: {NAME_RULE}")
    return value


def _own_number(environ: Mapping[str, str], key: str, argument: Optional[int], *, least: int) -> Optional[int]:
    value: object = argument if argument is not None else environ.get(key) or None
    if value is None:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = least - 1
    if number < least:
        raise ValueError(f"{key} (or its argument) is {value!r}: a whole number from {least} is needed")
    return number


def _foreign_number(environ: Mapping[str, str], keys: Tuple[str, ...]) -> Optional[int]:
    """The first of another program's variables that holds a number. A strange value there is not our user's mistake."""
    for key in keys:
        text = environ.get(key, "")
        if text.isascii() and text.isdigit():
            return int(text)
    return None

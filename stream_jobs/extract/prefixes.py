"""What logging, launchers and schedulers put before a line: time, level, logger, source position, rank.

Forms: logging, glog and absl (`I0224 00:32:03.39 655 a.cpp:219] `), Kaldi, loguru, log4j, torchrun (`[rank0]:`, `[default0]:`),
Horovod (`[1,0]<stdout>:`), Ray (`(Worker pid=7)`), NeMo, Kubeflow (`[Pod a-0]:`). They are peeled off one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stream_jobs.extract.times import STAMP

_LEVEL = (
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|SUCCESS"
    r"|Trace|Debug|Info|Notice|Warning|Error|info|debug|warning)"
)
_COUNTS = r"(?i:epoch|ep|iter|iteration|step|batch|it|train|valid|val|test|eval|e|i|round)\b(?!\.py:)"

_DAY = r"(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T\s]|[0-9]{2}/[0-9]{2}\s)[0-9]{2}:[0-9]{2}"
_RANKS = (
    re.compile(r"\[([0-9]+,[0-9]+)\]<std(?:out|err)>:\s?"),
    re.compile(r"\[(rank[0-9]+)\]:\s?"),
    re.compile(r"(?:[\w./-]+\s)?\[(default[0-9]+)\]:"),
    re.compile(r"\[(Rank:?\s?[0-9]+|RANK:[0-9]+)\]:?\s*"),
    re.compile(r"(\([\w.]*\s?pid=[0-9]+(?:,\sip=[0-9.]+)?\))\s"),
    re.compile(r"(?i)(rank\s?[0-9]+)\s?:\s"),
    re.compile(rf"([0-9]{{1,5}}):\s+(?=\[?{_DAY})"),  # srun --label
    re.compile(r"(\[(?:Pod|pod)\s[\w./-]+\]):?\s*"),
)
_OTHERS = (
    ("glog", re.compile(r"[IWEF][0-9]{4}\s[0-9:.]{8,15}\s+[0-9]+\s[\w./<>-]+:[0-9]+\]\s*")),
    ("kaldi", re.compile(r"(?:V?LOG|WARNING|ERROR)(?:\[[0-9]\])? \([\w-]+(?:\[[^\]\s]*\])?:[^\s]+\.(?:cc|h|cu):[0-9]+\)\s")),
    ("tensorflow", re.compile(r"[IWEF]\s[\w./-]+\.(?:cc|cpp|cu|h):[0-9]+\]\s*")),  # its C++ side
    ("nemo", re.compile(rf"\[NeMo\s[DIWE]\s({STAMP})\s[\w./-]+:[0-9]+\]\s*")),
    ("time and name", re.compile(rf"\[({STAMP}) [\w.-]+\]\s*\([\w./]+\.py [0-9]+\):\s+")),  # Swin Transformer and its heirs
    ("time", re.compile(rf"\[?\s?({STAMP})\s?\]?(?=[\s|:,-]|$)(?:\s?[|,:](?=\s))?\s*(?:-\s+)?")),
    ("source", re.compile(r"[\w./-]+\.(?:cc|cpp|cu|h|py):[0-9]+:\s+")),  # XGBoost, MXNet
    ("host", re.compile(r"\[?[\w.-]+\]?\s(?=\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T\s][0-9]{2}:)")),
    ("level", re.compile(rf"\[?{_LEVEL}\]?(?::[\w.]+:|:\s|\s*\|\s|\s+-\s+|\s*\]|\s+|(?<=\]))\s*")),
    ("level in brackets", re.compile(rf"\[{_LEVEL}:[\w.]+\]\s*|\[{_LEVEL}\s+[^\]\s]+\]\s*")),
    ("position in brackets", re.compile(rf"\[(?!{_COUNTS})[A-Za-z_][\w./-]*(?::[\w<>]+)*\]:?\s*(?:-\s)?")),
    ("position", re.compile(rf"\([\w./]+:[0-9]+\)\s+{_LEVEL}:\s*")),
    ("logger", re.compile(rf"(?:-\s)?[A-Za-z_][\w.]*\s(?:-\s)?{_LEVEL}\s?(?::|-)\s*")),
    ("logger after a dash", re.compile(r"[A-Za-z_][\w.]*(?::[\w<>]+:[0-9]+)?\s-\s+(?=\S)")),
    ("fairseq", re.compile(rf"\|\s?{_LEVEL}\s\|\s[\w.]+\s\|\s")),
    ("logger before a bar", re.compile(r"[\w.]+(?::[\w<>]+:[0-9]+)?\s\|\s(?=\{)|[\w]+(?:\.[\w]+)+(?::[\w<>]+:[0-9]+)?\s[|]\s")),
    ("bar", re.compile(r"\|\s(?=[A-Z]+\s+\|)")),
    ("fence", re.compile(r"```\s+(?=\S)")),  # of Markdown, on the line of what it holds
)
_NEEDS_MORE = {
    "source",
    "position in brackets",
    "logger after a dash",
    "logger before a bar",
    "bar",
}  # only behind a time or a level


@dataclass(frozen=True, slots=True)
class Prefix:
    """`end`: where the body begins. `stamp`: where the last time stamp stands. `stream`: who of several wrote the line."""

    end: int
    stamp: tuple[int, int] | None
    stream: str
    level: str
    names: tuple[str, ...]  # the forms that were peeled, for `--explain`


_LEVELS = re.compile(_LEVEL)
_NONE = Prefix(0, None, "", "", ())


def peel(text: str) -> Prefix:
    at = 0
    while at < len(text) and text[at] in " \t":
        at += 1
    stamp: tuple[int, int] | None = None
    streams: list[str] = []
    level = ""
    kinds: list[str] = []
    for _ in range(12):
        if at >= len(text):
            break
        if text[at] in "[(Rr" or text[at].isdigit() or "[default" in text[at : at + 80]:
            rank = next((m for m in (regex.match(text, at) for regex in _RANKS) if m is not None), None)
            if rank is not None:
                streams.append(rank[1])
                kinds.append("rank")
                at = rank.end()
                continue
        for kind, regex in _OTHERS:
            if kind in _NEEDS_MORE and not kinds:
                continue
            found = regex.match(text, at)
            if found is None or found.end() == at:
                continue
            if found.re.groups and found[1] is not None:
                stamp = found.span(1)
            if "level" in kind or kind in ("position", "logger", "fairseq", "kaldi"):
                named = _LEVELS.search(found[0])
                level = named[0].upper() if named else level
            elif kind in ("glog", "nemo"):
                level = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}.get(found[0].lstrip("[NeMo ")[:1], level)
            kinds.append(kind)
            at = found.end()
            break
        else:
            break
    if not kinds:
        return _NONE
    return Prefix(at, stamp, "".join(streams), level, tuple(kinds))

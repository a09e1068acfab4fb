"""What happened: lines that tell an event rather than a number."""

from __future__ import annotations

import re

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        (
            "out_of_memory",
            r"out of memory|outofmemoryerror|cuda_error_out_of_memory|\boom[- ]?kill|cannot allocate memory|resource_?exhausted"
            r"|std::bad_alloc|\bmemoryerror\b",
        ),
        (
            "nccl_timeout",
            r"watchdog caught collective operation timeout|nccl[^\n]{0,80}(?:time[d ]?[- ]?out)|collective[^\n]{0,40}timed out",
        ),
        ("early_stop", r"\bearly[ -]?stop(?:ped|ping)?\b(?! by optimi| rounds| patience|_)"),
        (
            "resumed",
            r"\bresum(?:ed|ing)\b|\bresume training\b|\brestor(?:ed|ing)\b[^\n]{0,40}\b(?:from|parameters|checkpoint)"
            r"|\bload(?:ed|ing)\b[^\n]{0,40}\bcheckpoint\b",
        ),
        (
            "checkpoint",
            r"\bsav(?:ed|ing)\b[^\n]{0,60}\b(?:checkpoints?|model|weights|state|ckpt|parameters)\b|\bcheckpoint\b[^\n]{0,120}\bsaved\b"
            r"|\bmodel saved\b|\bcheckpoint save\b|\bwrit(?:e|ing|ten) checkpoint",
        ),
        (
            "finished",
            r"\b(?:training|train|fine-?tuning|fitting|optimization)\b[^\n]{0,20}\b(?:finished|completed?|done|ended)\b"
            r"|\b(?:finished|completed|done)\s(?:the\s)?(?:training|fine-?tuning)\b|\bepochs completed in\b"
            r"|`Trainer\.fit` stopped|\bdone training\b",
        ),
        (
            "evaluation",
            r"\*{3,}\s*(?:running\s)?(?:evaluat|eval|validat|predict)|\b(?:running|start(?:ing|ed)?|begin(?:ning)?)\s(?:the\s)?(?:evaluation|validation|eval)\b",
        ),
        (
            "started",
            r"\*{3,}\s*running training|\bstart(?:ing|ed)?\s(?:the\s)?(?:training|fine-?tuning)\b|\btraining started\b"
            r"|\bstart train(?:ing)?\b|\bbegin(?:ning)?\strain",
        ),
    )
)
_HINT = re.compile(
    r"memory|alloc|exhaust|oom|time|stop|resum|restor|load|sav|checkpoint|train|fit|finish|complet|done|evalu|valid|eval|writ",
    re.I,
)
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout|StopIteration|NotFound)\b"
)
TRACEBACK = "Traceback (most recent call last)"
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_WARNING = re.compile(r"\b[A-Za-z]*[Ww]arning:|^WARN(?:ING)?\b")
TRACE_LINES = 200
TRACE_CHARACTERS = 16384


def of(text: str, header: bool) -> str | None:
    """The kind of event that this text tells, or None. `header`: it holds an epoch's number and no metric."""
    head = text[:2000]
    if _HINT.search(head) is not None:
        for kind, pattern in _KINDS:
            if pattern.search(head) is not None:
                return kind
    if TRACEBACK in head:
        return "traceback"
    if _WARNING.search(head) is not None:
        return "warning"
    return "epoch" if header else None


def continues_trace(body: str) -> bool:
    """The line belongs to the traceback above it."""
    return not body or body[0] in " \t" or body.startswith((TRACEBACK, *_CHAIN)) or body.isspace()


def ends_trace(body: str) -> bool:
    """The line names the exception that a traceback ends with."""
    return _EXCEPTION.match(body) is not None

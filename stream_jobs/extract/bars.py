"""Progress bars: tqdm, Keras, rich and their relatives. A bar says how far the task is; its numbers are no metrics."""

from __future__ import annotations

import re

from stream_jobs.extract.reading import Counter, Reading, Span

_N = r"[0-9]+(?:\.[0-9]+)?[kKMGT]?"
# `37%|███   | 112/300 [10:02<44:51, 5.29s/it` and the same without the drawn bar; what follows the rate is metrics.
_TQDM = re.compile(
    rf"(?<![0-9.])(?<![0-9],)[0-9]{{1,3}}(?:\.[0-9]{{1,6}})?%(?:\s*\|[^|\n]{{0,400}}\||\s)\s*({_N})/({_N}|\?)\s*\[[0-9:?<\s]*(?:day[s]?,\s[0-9:?<\s]*)?(?:,\s*[0-9.?]+\s?[^\s,\]]*)?\]?"
)
_TQDM_OPEN = re.compile(rf"(?<![\w.])({_N})\s?(?:it|batch|step|example)[a-z]*\s\[[0-9:?<\s]*(?:,\s*[0-9.?]+\s?[^\s,\]]*)?\]?")
# `1875/1875 [=====>....] - 2s 1ms/step`, Keras 3: `1875/1875 ━━━━━━━━ 2s 1ms/step`, verbose 2: `1875/1875 - 2s - `
_KERAS = re.compile(
    r"^\s*([0-9]+)/([0-9]+|Unknown)\s*(?:\[[=>.\s]*\]|[━╸╺─]{2,}|(?=-\s[0-9]+m?s\b))"
    r"(?:[\s-]*(?:ETA:\s*)?[0-9:]+(?:s|ms|us|h|m)?(?=\s))?(?:\s+[0-9.]+[munμµ]?s/(?:step|sample|epoch))?"
)
# rich, Lightning: `━━━━━━━ 100/100 0:00:10 • 0:00:00 9.50it/s`
_RICH = re.compile(r"[━╸╺]{2,}\s*(?:([0-9]+)/([0-9]+))?(?:\s*[0-9:-]{4,}(?:\s*•)?){0,2}(?:\s*[0-9.]+\s?it/s)?")
# Ultralytics since 8.3.200: `94% ━━━━━━━━━━━─ 99/105 8.5it/s 12.8s<0.7s`
_THIN = re.compile(
    rf"(?<![0-9.])[0-9]{{1,3}}%\s[━╸╺─]{{2,400}}\s({_N})/({_N})(?:\s[0-9.]+[kKMGT]?(?:it/s|B/s|s/it))?(?:\s[0-9:.]+[smhd]?(?:<[0-9:.]+[smhd]?)?)?"
)
# mmcv: `[>>>>>>    ] 50/90, 163.5 task/s, elapsed: 0s, ETA:     0s`
_MMCV = re.compile(r"\[[>\s]{2,400}\]\s([0-9]+)/([0-9]+),\s[0-9.]+\stask/s,\selapsed:\s[0-9]+s,\sETA:\s+[0-9]+s")
_HINTS = ("%", "[", "━")


def strip(text: str, reading: Reading) -> str:
    """The text with its bar blanked out (a `|` at its place, so that nothing moves); the bar's counter goes to `reading`."""
    if not any(hint in text for hint in _HINTS) and not ("/" in text[:24] and text.lstrip()[:1].isdigit()):
        return text
    if "%" in text or "it" in text or "[" in text:
        last: re.Match[str] | None = None
        for bar in _TQDM.finditer(text) if "%" in text else ():
            last = bar
            text = _blank(text, bar)
        if last is None and " [" in text:
            last = _TQDM_OPEN.search(text)
            if last is not None:
                text = _blank(text, last)
        if last is not None:
            _progress(last, reading, "tqdm")
            return text
    tasks = _MMCV.search(text) if "task/s" in text else None
    if tasks is not None:
        _progress(tasks, reading, "mmcv")
        return _blank(text, tasks)
    thin = _THIN.search(text) if "━" in text or "─" in text else None
    if thin is not None:
        _progress(thin, reading, "tqdm")
        return _blank(text, thin)
    keras = _KERAS.match(text)
    if keras is not None:
        _progress(keras, reading, "keras")
        return _blank(text, keras)
    rich = _RICH.search(text) if "━" in text else None
    if rich is not None:
        _progress(rich, reading, "rich")
        return _blank(text, rich)
    return text


def _blank(text: str, bar: re.Match[str]) -> str:
    start, end = bar.span()
    return f"{text[:start]}|{' ' * (end - start - 2)}|{text[end:]}" if end - start >= 2 else text


def _progress(bar: re.Match[str], reading: Reading, kind: str) -> None:
    reading.lead = bar.string[max(bar.start() - 80, 0) : bar.start()]
    done = bar.group(1)
    if done is None or not done.isdigit():
        return
    total = bar.group(2) if bar.re.groups > 1 else None
    reading.progress = Counter(
        80, Span(*bar.span(1)), Span(*bar.span(2)) if total is not None and total.isdigit() else None, kind
    )


def progress_of(text: str) -> tuple[int, int] | None:
    """(done, total) of a bar, or None where the text is none. For the open line that a heartbeat carries."""
    reading = Reading()
    strip(text[:4096], reading)
    counter = reading.progress
    if counter is None or counter.total is None:
        return None
    done, total = int(text[slice(*counter.at)]), int(text[slice(*counter.total)])
    return (done, total) if 0 <= done <= total < 2**62 else None

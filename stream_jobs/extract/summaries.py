"""Lines that one framework prints in a form of its own, which the grammar of pairs would take apart wrongly."""

from __future__ import annotations

import re

from stream_jobs.extract import numbers
from stream_jobs.extract.reading import Counter, Pair, Reading, Span

# pycocotools: ` Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.381`
_COCO = re.compile(rf"\s*(Average (?:Precision|Recall)\s+\(A[PR]\)\s@\[[^\]]*\])\s=\s({numbers.NUMBER})\s*$")
# Darknet: ` 90: 1.5, 2.5 avg loss, 0.001 rate, 3.5 seconds, 57 images`; older ones say `2.5 avg`
_VALUE = rf"({numbers.NUMBER}|-?nan)"
_DARKNET = re.compile(rf"\s*([0-9]+): {_VALUE}, {_VALUE} (avg(?: loss)?), {_VALUE} (rate), {_VALUE} (seconds),")


def read(text: str, reading: Reading) -> bool:
    """Read the whole line by one of these forms; False where it is none of them."""
    coco = _COCO.match(text)
    if coco is not None:
        reading.pairs.append(Pair(Span(*coco.span(1)), Span(*coco.span(2)), True, "COCO summary"))
        return True
    darknet = _DARKNET.match(text)
    if darknet is None:
        return False
    reading.steps.append(Counter(70, Span(*darknet.span(1)), None, "line start"))
    named: tuple[tuple[Span | str, int], ...]
    named = (("loss", 2), (Span(*darknet.span(4)), 3), (Span(*darknet.span(6)), 5), (Span(*darknet.span(8)), 7))
    for name, group in named:
        word = numbers.word_value(darknet[group])
        reading.pairs.append(Pair(name, Span(*darknet.span(group)) if word is None else word, True, "Darknet"))
    return True

"""Lines that one framework prints in a form of its own, which the grammar of pairs would take apart wrongly."""

from __future__ import annotations

import re

from stream_jobs.extract import numbers
from stream_jobs.extract.reading import Counter, Pair, Reading, Span

# pycocotools: ` Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.381`
_COCO = re.compile(rf"\s*(Average (?:Precision|Recall)\s+\(A[PR]\)\s@\[[^\]]*\])\s=\s({numbers.NUMBER})\s*$")
_ANY = rf"(?:{numbers.NUMBER}|-?nan)"
_VALUE = f"({_ANY})"
# Darknet: ` 90: 1.5, 2.5 avg loss, 0.001 rate, 3.5 seconds, 57 images`; older ones say `2.5 avg`
_DARKNET = re.compile(rf"\s*([0-9]+): {_VALUE}, {_VALUE} (avg(?: loss)?), {_VALUE} (rate), {_VALUE} (seconds),")
# and of one layer: `Region 82 Avg IOU: 0.5, Class: 0.25, Obj: 0.5, No Obj: 0.125, .5R: 1.0, .75R: 0.5,  count: 5`
_REGION = re.compile(rf"\s*Region [0-9]+ (?=Avg IOU: {_ANY}, Class: )")
_MEMBER = re.compile(rf"([A-Z][A-Za-z ]*|\.[0-9]+R): {_VALUE}(?:, |$)")
# Kaldi: `Overall average objective function for 'output' is -0.5 + -0.25 = -0.75 over 640.0 frames.`
_KALDI = re.compile(
    rf"\s*(\w[\w -]{{0,80}}?) for '([\w.-]{{1,80}})'(?: for minibatches [0-9]+-([0-9]+))? is (?:{_ANY} \+ {_ANY} = )?{_VALUE}"
    rf"(?: per frame)?,? over {numbers.NUMBER} frames"
)
# AutoGluon: `0.75  = Validation score   (accuracy)`, `2.5s  = Training   runtime`
_VALUED = re.compile(rf"\s*{_VALUE}s?\s+= ((?:Validation|Training|Test)\s+(?:score|runtime)(?:\s+\(-?[\w-]+\))?)\s*$")
# Lightning: `Epoch 2, global step 70: 'val_auc' reached 0.5 (best 0.5), saving model to …`
_REACHED = re.compile(rf"Epoch ([0-9]+), global step ([0-9]+): '([^']{{1,80}})' reached {_VALUE} \(best ")
# R: `iter  10 value 0.5`
_R = re.compile(rf"iter\s+([0-9]+)\s+(value)\s+{_VALUE}\s*$")
_STEP = 70  # rank of a counter that no word names


def read(text: str, reading: Reading) -> bool:
    """Read the whole line by one of these forms; False where it is none of them."""
    return any(form(text, reading) for form in (_coco, _darknet, _region, _kaldi, _valued, _reached, _r))


def _coco(text: str, reading: Reading) -> bool:
    found = _COCO.match(text)
    if found is not None:
        reading.pairs.append(Pair(Span(*found.span(1)), Span(*found.span(2)), True, "COCO summary"))
    return found is not None


def _darknet(text: str, reading: Reading) -> bool:
    found = _DARKNET.match(text)
    if found is None:
        return False
    reading.steps.append(Counter(_STEP, Span(*found.span(1)), None, "line start"))
    named: tuple[tuple[Span | str, int], ...]
    named = (("loss", 2), (Span(*found.span(4)), 3), (Span(*found.span(6)), 5), (Span(*found.span(8)), 7))
    for name, group in named:
        _add(name, found, group, "Darknet", reading)
    return True


def _region(text: str, reading: Reading) -> bool:
    head = _REGION.match(text)
    at = head.end() if head is not None else 0
    while at and (member := _MEMBER.match(text, at)) is not None:
        _add(Span(*member.span(1)), member, 2, "Darknet", reading)
        at = member.end()
    return head is not None


def _kaldi(text: str, reading: Reading) -> bool:
    found = _KALDI.match(text) if " for '" in text else None
    if found is None:
        return False
    plain = found[2] == "output"  # what a network has one of is called so; others are told apart
    name = Span(found.start(1), found.end(1) if plain else found.end(2) + 1)
    if found[3] is not None:
        reading.steps.append(Counter(_STEP, Span(*found.span(3)), None, "minibatches"))
    _add(name, found, 4, "Kaldi", reading)
    return True


def _valued(text: str, reading: Reading) -> bool:
    found = _VALUED.match(text)
    if found is not None:
        reading.loose.append(Span(*found.span(2)))
        _add(" ".join(found[2].split()), found, 1, "value = name", reading)
    return found is not None


def _reached(text: str, reading: Reading) -> bool:
    found = _REACHED.match(text)
    if found is not None:
        reading.epochs.append(Counter(0, Span(*found.span(1)), None, "Epoch"))
        reading.steps.append(Counter(0, Span(*found.span(2)), None, "global step"))
        _add(Span(*found.span(3)), found, 4, "Lightning", reading)
    return found is not None


def _r(text: str, reading: Reading) -> bool:
    found = _R.match(text)
    if found is not None:
        reading.steps.append(Counter(0, Span(*found.span(1)), None, "iter"))
        _add(Span(*found.span(2)), found, 3, "R", reading)
    return found is not None


def _add(name: Span | str, found: re.Match[str], group: int, rule: str, reading: Reading) -> None:
    word = numbers.word_value(found[group])
    reading.pairs.append(Pair(name, Span(*found.span(group)) if word is None else word, True, rule))

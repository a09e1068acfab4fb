"""One line's text read by every form: objects, bars, pairs. It sees a shape, never the digits of a value."""

from __future__ import annotations

from stream_jobs.extract import bars, names, objects, pairs
from stream_jobs.extract.reading import Reading

_FREE_TEXT = 32768  # characters of a line that are read for pairs: 0.1 s of work at the worst; objects are read whole


def read(body: str) -> Reading:
    """What the text of one line says, whatever stood before it."""
    reading = Reading()
    rest = body
    if "{" in body or "('" in body or '("' in body:
        for start, end in objects.read(body, reading):
            rest = f"{rest[:start]}|{' ' * (end - start - 1)}{rest[end:]}"
    in_objects = len(reading.pairs)
    if len(rest) > _FREE_TEXT:
        rest = rest[: rest.rfind(" ", 0, _FREE_TEXT) + 1]
    rest = bars.strip(rest, reading)
    pairs.read(rest, reading)
    reading.rates = all(names.is_learning_rate(pair.called(body)) for pair in reading.pairs if pair.sure)
    if reading.rates and _declares(reading):
        reading.pairs, reading.epochs = [], []
    if reading.progress is not None and not reading.pairs:
        reading.inner = None  # a row of a table that is not open, behind it a bar
    if in_objects:
        reading.source = "json" if '{"' in body else "dict"
    elif reading.progress is not None:
        reading.source = "bar"
    return reading


def _declares(reading: Reading) -> bool:
    """`Size: 300 - Epochs: 100 - LR: 0.001`: how many epochs there will be, alone or among settings."""
    return any(epoch.total is None and names.plain(epoch.name) == "epochs" for epoch in reading.epochs)

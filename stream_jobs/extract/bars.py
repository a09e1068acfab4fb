"""Progress bars: tqdm, Keras, rich and their relatives."""

from __future__ import annotations

import re

_COUNT = re.compile(r"(?<![\w./-])(\d{1,12})/(\d{1,12})(?![\w./-])")


def progress_of(text: str) -> tuple[int, int] | None:
    """(done, total) of a bar, or None where the text is none. For the open line that a heartbeat carries."""
    if "%|" not in text and "[" not in text and "━" not in text:
        return None
    found = _COUNT.search(text[:4096])
    if found is None or int(found[2]) < int(found[1]):
        return None
    return int(found[1]), int(found[2])

"""Values as JSON carries them without loss: non-finite floats and integers above 2^53 are strings."""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi.responses import Response

EXACT = 2**53  # integers up to here survive a browser's numbers


def plain(value: Any) -> Any:
    """The same value, ready for JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else ("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def encode(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def answer(value: Any) -> Response:
    """A JSON answer that no cache keeps: everything here changes."""
    return Response(encode(value), media_type="application/json", headers={"Cache-Control": "no-store"})

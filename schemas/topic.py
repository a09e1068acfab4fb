"""Names that both ends of the topic must agree on, and the rule for task ids."""

from __future__ import annotations

import re

TOPIC = "trainwire.events.v1"
PARTITIONS = 8
MESSAGE_LIMIT = 2 * 1024 * 1024  # bytes; a delta is at most 256 KiB of lines or 1 MiB of record, the rest is room

# Anything else is refused where it enters: a quote or a backslash in it would be an injection into Grafana's SQL.
TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
TASK_ID_RULE = "1 to 128 of A-Z a-z 0-9 . _ : - and the first a letter or digit"


def is_task_id(text: str) -> bool:
    return TASK_ID.fullmatch(text) is not None

from __future__ import annotations

import logging

from runtime.logs import Repeats


def record(logger: str, line: int, at: float) -> logging.LogRecord:
    made = logging.LogRecord(logger, logging.ERROR, "client.py", line, "no broker at port %d", (int(at),), None)
    made.created = at
    return made


def test_of_a_library_one_record_a_place_and_half_minute_passes_and_all_of_ours_do() -> None:
    repeats = Repeats("aiokafka", every=30)
    assert [repeats.filter(record("aiokafka.client", 7, at)) for at in (0, 0.1, 29.9, 30, 31)] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert repeats.filter(record("aiokafka.client", 8, 1))
    assert all(repeats.filter(record("worker", 7, at)) for at in (0, 0.1, 0.2))

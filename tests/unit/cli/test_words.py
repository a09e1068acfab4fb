"""What the command line says."""

from __future__ import annotations

import pytest

from cli import words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07 back\x08 csi\x9b31m", "bell back csi31m"),
        ("tab\tstays, ü and 名前 too", "tab\tstays, ü and 名前 too"),
    ],
)
def test_a_tasks_text_cannot_act_on_the_terminal(text: str, shown: str) -> None:
    assert words.harmless(text) == shown


def test_spans() -> None:
    assert [words.duration(ms) for ms in (0, 1500, 90_000, 3_700_000, 200_000_000)] == [
        "0 s",
        "2 s",
        "2 min",
        "1 h 2 min",
        "2 days",
    ]


def test_progress() -> None:
    assert words.progress(5, 10) == "5/10 (50 %)"
    assert words.progress(5, None) == "5"
    assert words.progress(None, 10) == ""

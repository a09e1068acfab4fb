"""The metrics page is what the code says."""

from pathlib import Path

from cli.metrics import document

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == document(), "run `make docs`"

"""The settings page is what the code says."""

from pathlib import Path

from cli.main import VERBS
from cli.settings import document

TOP = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    assert (TOP / "docs" / "settings.md").read_text("utf-8") == document(), "run `make docs`"


def test_no_secret_has_a_default_that_shows() -> None:
    assert all("PASSWORD" not in line or "`***`" in line or "|  |" in line for line in document().splitlines())


def test_the_readme_names_only_verbs_that_exist() -> None:
    words = (TOP / "README.md").read_text("utf-8").split()
    called = {words[i + 1].strip("`") for i, word in enumerate(words[:-1]) if word.lstrip('`("$') == "trainwirectl"}
    assert called <= set(VERBS)

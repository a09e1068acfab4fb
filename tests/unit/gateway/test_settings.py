"""Settings that would go wrong later are refused at start."""

from __future__ import annotations

import pytest

from gateway.settings import Settings
from runtime.errors import SettingError
from runtime.settings import load


def test_defaults_read_only_and_stay_on_this_machine() -> None:
    settings = load(Settings, {})
    assert (settings.store.user, settings.web.host, settings.web.base_path) == ("viewer", "127.0.0.1", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE_PATH", "wire"),
        ("BASE_PATH", "/wire/"),
        ("BASE_PATH", '/"><script>'),
        ("PORT", "70000"),
        ("PORT", "x"),
        ("QUERY_THREADS", "0"),
        ("LIVE_INTERVAL", "5"),
    ],
)
def test_wrong_ones_are_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"TRAINWIRE_GATEWAY_{name}"):
        load(Settings, {f"TRAINWIRE_GATEWAY_{name}": value})

"""Settings: what is read, what is refused, and with which words."""

import dataclasses

import pytest

from runtime.errors import SettingError
from runtime.settings import KafkaSettings, Secret, StoreSettings, address, load, reference, setting


@dataclasses.dataclass(frozen=True)
class Tuning:
    batch: int = setting("WORKER_BATCH", 10, unit="messages", why="how many are taken at once")
    ratio: float = setting("WORKER_RATIO", 0.5, why="a share")
    fast: bool = setting("WORKER_FAST", False, why="a switch")
    name: str = setting("WORKER_NAME", why="who it is")


@dataclasses.dataclass(frozen=True)
class Settings:
    kafka: KafkaSettings
    tuning: Tuning


NAME = {"TRAINWIRE_WORKER_NAME": "w"}


def test_defaults_and_values() -> None:
    settings = load(Settings, NAME | {"TRAINWIRE_KAFKA_BOOTSTRAP": "a:1, b:2", "TRAINWIRE_WORKER_FAST": "yes", "PATH": "/bin"})
    assert settings.kafka.bootstrap == ("a:1", "b:2")
    assert (settings.tuning.batch, settings.tuning.ratio, settings.tuning.fast) == (10, 0.5, True)


def test_an_empty_value_is_the_default() -> None:
    assert load(Settings, NAME | {"TRAINWIRE_WORKER_BATCH": ""}).tuning.batch == 10


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "TRAINWIRE_WORKER_NAME is missing: who it is"),
        (NAME | {"TRAINWIRE_WORKER_BATCH": "ten"}, "TRAINWIRE_WORKER_BATCH='ten' is not understood (expected int)"),
        (NAME | {"TRAINWIRE_WORKER_FAST": "maybe"}, "TRAINWIRE_WORKER_FAST='maybe'"),
        (NAME | {"TRAINWIRE_KAFKA_BOOTSTRAPS": "a:1"}, "did you mean TRAINWIRE_KAFKA_BOOTSTRAP?"),
        (NAME | {"TRAINWIRE_WORKER_BATHC": "1"}, "did you mean TRAINWIRE_WORKER_BATCH?"),
        (NAME | {"TRAINWIRE_WORKER_BATCH": "-1"}, "TRAINWIRE_WORKER_BATCH=-1 is out of range: it is at least 0"),
        (NAME | {"TRAINWIRE_WORKER_BATCH": "9" * 20}, "out of range"),
        (NAME | {"TRAINWIRE_WORKER_RATIO": "nan"}, "TRAINWIRE_WORKER_RATIO=nan is out of range"),
        (NAME | {"TRAINWIRE_WORKER_RATIO": "inf"}, "at most 1e+09"),
        (NAME | {"TRAINWIRE_KAFKA_BOOTSTRAP": "kafka"}, "TRAINWIRE_KAFKA_BOOTSTRAP='kafka': use host:port"),
        (NAME | {"TRAINWIRE_KAFKA_BOOTSTRAP": "a:1,:2"}, "TRAINWIRE_KAFKA_BOOTSTRAP=':2': use host:port"),
        (NAME | {"TRAINWIRE_KAFKA_TOPIC": "a/b"}, "TRAINWIRE_KAFKA_TOPIC='a/b'"),
        (NAME | {"TRAINWIRE_KAFKA_SECURITY_PROTOCOL": "TLS"}, "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"),
        (NAME | {"TRAINWIRE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, "SASL needs"),
    ],
)
def test_what_is_wrong_is_named(environ: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError) as caught:
        load(Settings, environ)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "name", ["TRAINWIRE_SHIPPER_ANYTHING", "TRAINWIRE_TASK_ID", "TRAINWIRE_CLICKHOUSE_URL", "TRAINWIRE_LOGS"]
)
def test_names_of_other_programs_pass(name: str) -> None:
    load(Settings, NAME | {name: "x"})


def test_a_secret_does_not_show_itself() -> None:
    settings = load(KafkaSettings, {"TRAINWIRE_KAFKA_SASL_PASSWORD": "hunter2"})
    assert settings.sasl_password.value == "hunter2"
    assert "hunter2" not in f"{settings} {settings!r} {settings.sasl_password} {dataclasses.asdict(settings)}"
    assert str(Secret("x")) == "***"


def test_the_reference_table_names_every_setting() -> None:
    table = reference(Settings)
    assert "| `TRAINWIRE_WORKER_BATCH` | `10` | messages | how many are taken at once |" in table
    assert "| `TRAINWIRE_WORKER_NAME` | required |" in table
    assert "`TRAINWIRE_KAFKA_TOPIC`" in table


def test_a_default_is_shown_as_it_is_written() -> None:
    @dataclasses.dataclass(frozen=True)
    class Listener:
        at: tuple[str, int] = setting("WORKER_AT", ("127.0.0.1", 80), parse=address, why="where")
        password: Secret = setting("WORKER_PASSWORD", Secret(""), why="what")

    assert "| `TRAINWIRE_WORKER_AT` | `127.0.0.1:80` |" in reference(Listener)
    assert "| `TRAINWIRE_WORKER_PASSWORD` |  |" in reference(Listener)


@pytest.mark.parametrize("url", ["ch:8123", "ftp://ch", "http://", "http://ch:0", "http://ch:99999", "http://[::1"])
def test_what_is_no_web_address(url: str) -> None:
    with pytest.raises(SettingError, match="TRAINWIRE_CLICKHOUSE_URL="):
        load(StoreSettings, {"TRAINWIRE_CLICKHOUSE_URL": url})


def test_a_store_address_is_read() -> None:
    assert load(StoreSettings, {"TRAINWIRE_CLICKHOUSE_URL": "https://ch:8443"}).url == "https://ch:8443"


@pytest.mark.parametrize(
    ("text", "read"),
    [("127.0.0.1:9100", ("127.0.0.1", 9100)), (":0", ("", 0)), ("[::1]:80", ("::1", 80)), ("a.b:65535", ("a.b", 65535))],
)
def test_an_address_to_listen_on(text: str, read: tuple[str, int]) -> None:
    assert address(text) == read


@pytest.mark.parametrize("text", ["9100", "a:", "a:b", "a:65536", "a:-1", "a:²"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        address(text)

"""Settings: one frozen dataclass a program, grouped by concern, read from `TRAINWIRE_*` once at start.

A program composes groups::

    @dataclass(frozen=True)
    class Settings:
        kafka: KafkaSettings
        shipper: ShipperSettings

    settings = load(Settings, os.environ)

Each field is declared with `setting(...)`, which carries its environment name, unit and reason, so that the
reference table in the docs is generated from the code and cannot drift. A name that starts with `TRAINWIRE_` and
that no program knows is an error: a mistyped setting that is silently ignored costs somebody a night.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from runtime.errors import SettingError

T = TypeVar("T")

PREFIX = "TRAINWIRE_"
MOST = 10**9  # of any number: bytes, rows, or seconds (32 years; the system's own waits end at 292)
# Each program refuses unknown names among those that it shares and those under its own prefix; names under another
# program's prefix pass, because one environment (a pod, a shell) often holds several programs' settings.
PROGRAM_PREFIXES = (
    "TRAINWIRE_SHIPPER_",
    "TRAINWIRE_WORKER_",
    "TRAINWIRE_GATEWAY_",
    "TRAINWIRE_LOCAL_",
    "TRAINWIRE_GRAFANA_",
    "TRAINWIRE_CTL_",
    "TRAINWIRE_TEST_",
)
# Names that the SDK and `trainwire run` read in the training task's own environment.
_SDK_WORDS = ("TASK_ID", "TASK_NAME", "TASK_PATTERNS", "NAME", "START_ID", "ATTEMPT", "RANK", "WORLD_SIZE", "LOG_DIR", "OWNER")
SDK_NAMES = frozenset(PREFIX + name for name in (*_SDK_WORDS, "PROJECT", "FRAMEWORK"))


class Secret:
    """A value that never shows itself: `repr`, `str`, logs and `dataclasses.asdict` give `***`."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


def setting(
    name: str,
    default: Any = dataclasses.MISSING,
    *,
    why: str,
    unit: str = "",
    parse: Callable[[str], Any] | None = None,
    least: float = 0,
) -> Any:
    """Declare a field read from `TRAINWIRE_<name>`; `why` says what it does and why the default is what it is.

    A number is at least `least` and at most `MOST`.
    """
    metadata = {"env": PREFIX + name, "why": why, "unit": unit, "parse": parse, "least": least}
    return dataclasses.field(default=default, kw_only=True, metadata=metadata)


def load(cls: type[T], environ: Mapping[str, str]) -> T:
    """Build `cls` (a group, or a dataclass of groups) from the environment; raises `SettingError` naming what to change."""
    known = {field.metadata["env"] for _, field in fields(cls)}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known | SHARED_NAMES | SDK_NAMES and not _of_another_program(name, known):
            near = difflib.get_close_matches(name, known | SHARED_NAMES, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SettingError(f"{name} is not a setting{hint} (unset it, or correct its name)")
    return _build(cls, environ)


def fields(cls: type) -> Iterator[tuple[type, dataclasses.Field[Any]]]:
    """Yield (group, field) of every setting below `cls`, in declaration order."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if dataclasses.is_dataclass(hints[field.name]) and "env" not in field.metadata:
            yield from fields(typing.cast(type, hints[field.name]))
        else:
            yield cls, field


def reference(cls: type) -> str:
    """The Markdown table of every setting below `cls`, as the docs print it."""
    rows = ["| name | default | unit | what and why |", "|---|---|---|---|"]
    for _, field in fields(cls):
        default = "required" if field.default is dataclasses.MISSING else _shown(field.default)
        rows.append(f"| `{field.metadata['env']}` | {default} | {field.metadata['unit']} | {field.metadata['why']} |")
    return "\n".join(rows)


def tell_use(program: str, purpose: str, cls: type) -> None:
    """Read the command line of a program that takes all it needs from `cls`: `--help` tells it, anything else is refused."""
    form = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(prog=program, description=purpose, epilog=reference(cls), formatter_class=form).parse_args()


def _shown(default: Any) -> str:
    """As it would be written in the environment; nothing for what an empty value gives."""
    if default is None or isinstance(default, Secret):
        return ""
    if isinstance(default, tuple):
        text = "{}:{}".format(*default) if default and isinstance(default[-1], int) else ", ".join(default)
    else:
        text = str(default)
    return f"`{text}`" if text else ""


def _of_another_program(name: str, known: set[str]) -> bool:
    own = {prefix for prefix in PROGRAM_PREFIXES if any(k.startswith(prefix) for k in known)}
    return any(name.startswith(prefix) for prefix in PROGRAM_PREFIXES if prefix not in own)


def _build(cls: type[T], environ: Mapping[str, str]) -> T:
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # T is bound to dataclasses by its callers
        hint = hints[field.name]
        if "env" not in field.metadata:
            values[field.name] = _build(hint, environ)
            continue
        name = field.metadata["env"]
        if environ.get(name, "") != "":
            values[field.name] = _parse(name, environ[name], hint, field.metadata["parse"])
            _check_range(name, values[field.name], field.metadata["least"])
        elif field.default is dataclasses.MISSING:
            raise SettingError(f"{name} is missing: {field.metadata['why']}")
    try:
        return cls(**values)
    except ValueError as error:  # a group's own __post_init__ check
        raise SettingError(str(error)) from None


def _parse(name: str, text: str, hint: Any, parse: Callable[[str], Any] | None) -> Any:
    if isinstance(hint, types.UnionType):  # `int | None`: empty means None and never comes here
        hint = next(arg for arg in typing.get_args(hint) if arg is not type(None))
    try:
        if parse is not None:
            return parse(text)
        if hint is bool:
            return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}[
                text.lower()
            ]
        if hint in (int, float, str, Secret):
            return hint(text)
        if hint == tuple[str, ...]:
            return tuple(part.strip() for part in re.split(r"[,\n]", text) if part.strip())
    except (ValueError, KeyError) as error:
        reason = f": {error}" if parse is not None else ""
        raise SettingError(f"{name}={text!r} is not understood (expected {getattr(hint, '__name__', hint)}){reason}") from None
    raise TypeError(f"{name}: no parser for {hint}")


def _check_range(name: str, value: Any, least: float) -> None:
    # Written so that NaN, which no comparison is true for, is refused too.
    if type(value) in (int, float) and not least <= value <= MOST:
        raise SettingError(f"{name}={value} is out of range: it is at least {least:g} and at most {MOST:g}")


def web_address(text: str) -> str:
    """For `parse`: the address of an HTTP service."""
    try:
        url = urlsplit(text)
        good = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        good = False
    if not good:
        raise ValueError("http://host:port, or https://…")
    return text


def address(text: str) -> tuple[str, int]:
    """For `parse`: host and port to listen on; no host is all interfaces, an IPv6 one stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError("host:port, or :port for all interfaces")
    return host.strip("[]"), int(port)


@dataclasses.dataclass(frozen=True)
class KafkaSettings:
    """How to reach the broker. Every program that speaks Kafka composes this group."""

    bootstrap: tuple[str, ...] = setting("KAFKA_BOOTSTRAP", ("127.0.0.1:9092",), why="brokers as host:port, comma separated")
    topic: str = setting("KAFKA_TOPIC", "trainwire.events.v1", why="topic of all events; its contract is schemas/events.py")
    security_protocol: str = setting("KAFKA_SECURITY_PROTOCOL", "PLAINTEXT", why="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    sasl_mechanism: str = setting("KAFKA_SASL_MECHANISM", "", why="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    sasl_username: str = setting("KAFKA_SASL_USERNAME", "", why="user name for SASL")
    sasl_password: Secret = setting("KAFKA_SASL_PASSWORD", Secret(""), why="password for SASL")
    ssl_ca: str = setting("KAFKA_SSL_CA", "", why="path of the CA certificates (PEM); empty takes the system's")

    def __post_init__(self) -> None:
        for server in self.bootstrap:
            if not re.fullmatch(r"\S+:\d{1,5}", server):
                raise ValueError(f"TRAINWIRE_KAFKA_BOOTSTRAP={server!r}: use host:port")
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", self.topic):
            raise ValueError(f"TRAINWIRE_KAFKA_TOPIC={self.topic!r}: use at most 249 of A-Z a-z 0-9 . _ -")
        if self.security_protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
            raise ValueError(
                f"TRAINWIRE_KAFKA_SECURITY_PROTOCOL={self.security_protocol!r}: use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
            )
        if self.security_protocol.startswith("SASL") and not (self.sasl_mechanism and self.sasl_username):
            raise ValueError("SASL needs TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD")


@dataclasses.dataclass(frozen=True)
class StoreSettings:
    """How to reach ClickHouse over HTTP. The worker writes as `writer`; people's programs read as `viewer`."""

    url: str = setting(
        "CLICKHOUSE_URL",
        "http://127.0.0.1:8123",
        parse=web_address,
        why="address of ClickHouse's HTTP interface (http or https)",
    )
    database: str = setting("CLICKHOUSE_DATABASE", "trainwire", why="database of all tables and views")
    user: str = setting("CLICKHOUSE_USER", "writer", why="user name; readers take a user that can only read")
    password: Secret = setting("CLICKHOUSE_PASSWORD", Secret(""), why="password of that user")


@dataclasses.dataclass(frozen=True)
class ReaderSettings(StoreSettings):
    """The same for programs that only read: their user can do no more."""

    user: str = setting("CLICKHOUSE_USER", "viewer", why="user name; one that can only read")


def _names(*groups: type) -> frozenset[str]:
    return frozenset(field.metadata["env"] for group in groups for _, field in fields(group))


SHARED_NAMES = _names(KafkaSettings, StoreSettings) | {PREFIX + "TASK_FROM", PREFIX + "LOGS", PREFIX + "LOG_LEVEL"}

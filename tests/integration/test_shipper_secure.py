"""A broker that asks for a password and speaks TLS (SASL_SSL)."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from deploy.local.broker import BrokerOptions, Listener
from deploy.local.ports import free_port
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from tests.integration.test_shipper_process import Program, Topic, bytes_of
from tests.unit.shipper.harness import numbered, write

pytestmark = [pytest.mark.services, pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a key")]


@pytest.fixture
def secure(tmp_path: pathlib.Path) -> Iterator[tuple[Stack, int, pathlib.Path]]:
    """(stack, port of its SASL_SSL listener, CA certificate)."""
    keys = tmp_path / "keys"
    keys.mkdir()
    key, certificate = keys / "key.pem", keys / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    (keys / "broker.pem").write_text(key.read_text() + certificate.read_text())
    (keys / "broker.pem").chmod(0o600)
    port = free_port()
    users = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_shipper="right";'
    name = "listener.name.secure."
    options = BrokerOptions(
        listeners=(Listener("SECURE", "SASL_SSL", port),),
        config={
            "sasl.enabled.mechanisms": "PLAIN",
            f"{name}plain.sasl.jaas.config": users,
            f"{name}sasl.enabled.mechanisms": "PLAIN",
            f"{name}ssl.keystore.type": "PEM",
            f"{name}ssl.keystore.location": str(keys / "broker.pem"),
        },
    )
    stack = Stack(tmp_path / "stack", LocalSettings(), options)
    try:
        stack.start(tied=True)
        yield stack, port, certificate
    finally:
        stack.remove()


def test_password_and_tls(secure: tuple[Stack, int, pathlib.Path], tmp_path: pathlib.Path) -> None:
    stack, port, certificate = secure
    logs = tmp_path / "logs"
    write(logs / "a.log", numbered(1, 100))
    program = Program(logs, f"127.0.0.1:{port}", "t.secure")
    login = {
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA_SASL_MECHANISM": "PLAIN",
        "KAFKA_SASL_USERNAME": "shipper",
        "KAFKA_SSL_CA": str(certificate),
        "SHIPPER_DRAIN_SECONDS": "1",
    }
    try:
        for password, says in (("wrong", "TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD"), ("right", "")):
            shipper = program.start(**login, KAFKA_SASL_PASSWORD=password)
            if says:
                time.sleep(15)
                assert shipper.poll() is None, "it keeps trying"
                shipper.terminate()
                assert shipper.wait(60) == 75
                assert shipper.stderr is not None
                said = shipper.stderr.read()
                assert says in said, said
                assert "wrong" not in said, "a password is never said"
        topic = Topic(stack.bootstrap, "t.secure")
        topic.until(lambda seen: bytes_of(seen) == (logs / "a.log").stat().st_size, 60)
        topic.close()
    finally:
        program.end()

"""The local stack's life: up, status, logs, down, restarts, faults, and that nothing is ever left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import clickhouse_connect
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from deploy.local.broker import BrokerOptions, Listener
from deploy.local.ports import free_port
from deploy.local.process import Identity
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from runtime.settings import Secret

pytestmark = pytest.mark.services
CTL = str(Path(sys.executable).with_name("trainwirectl"))


def ctl(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")}
    return subprocess.run([CTL, *arguments], capture_output=True, text=True, env=clean | environ, timeout=120)


def processes_of(folder: Path) -> list[int]:
    """Every process whose command names the folder: asked of the kernel, not of the stack."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in command and Identity.of(int(entry.name)):
                found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "stack"
    yield folder
    Stack(folder).remove()
    assert processes_of(folder) == []


def fill(stack: Stack) -> None:
    """Something in both services that a restart must keep."""
    admin = KafkaAdminClient(bootstrap_servers=stack.bootstrap)
    admin.create_topics({"kept": {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    producer = KafkaProducer(bootstrap_servers=stack.bootstrap)
    producer.send("kept", b"message").get(20)
    producer.close(timeout=5)
    with store_client(stack) as client:
        client.command("CREATE DATABASE kept")
        for table in ("kept.t", "default.t"):
            client.command(f"CREATE TABLE {table} (a UInt8) ENGINE = MergeTree ORDER BY a")
            client.command(f"INSERT INTO {table} VALUES (7)")


def check_filled(stack: Stack) -> None:
    consumer = KafkaConsumer("kept", bootstrap_servers=stack.bootstrap, auto_offset_reset="earliest")
    values: list[bytes] = []

    def come() -> bool:
        values.extend(record.value for records in consumer.poll(timeout_ms=200).values() for record in records)
        return bool(values)

    wait_for(come)
    consumer.close()
    assert values == [b"message"]
    with store_client(stack) as client:
        assert client.query("SELECT a FROM kept.t UNION ALL SELECT a FROM default.t").result_rows == [(7,), (7,)]


def store_client(stack: Stack, user: str = "writer") -> clickhouse_connect.driver.client.Client:
    return clickhouse_connect.get_client(
        host="127.0.0.1", port=stack.store.port, username=user, password=stack.password(user), autogenerate_session_id=False
    )


def test_up_status_logs_down(data: Path) -> None:
    where = ("--data", str(data))
    assert ctl("status", *where).returncode == 1
    assert "trainwirectl up" in ctl("status", "--env", *where).stderr
    begun = time.monotonic()
    up = ctl("up", *where)
    assert up.returncode == 0, up.stderr
    print(f"ready after {time.monotonic() - begun:.1f} s")
    stack = Stack(data)
    assert stack.bootstrap in up.stdout
    assert stack.clickhouse_url in up.stdout
    fill(stack)

    again = ctl("up", *where)
    assert again.returncode == 0
    assert "runs already" in again.stdout

    status = ctl("status", *where)
    assert status.returncode == 0, status.stdout
    for word in ("broker", "clickhouse", "healthy", stack.bootstrap, stack.clickhouse_url, "Apache Kafka 4", "ClickHouse 2"):
        assert word in status.stdout
    assert str(stack.broker.process.pid if stack.broker.process else None) in status.stdout

    env = ctl("status", "--env", "--user", "viewer", *where)
    shown = subprocess.run(["sh", "-c", f"{env.stdout}\nenv"], capture_output=True, text=True, check=True).stdout
    assert f"TRAINWIRE_KAFKA_BOOTSTRAP={stack.bootstrap}\n" in shown
    assert f"TRAINWIRE_CLICKHOUSE_PASSWORD={stack.password('viewer')}\n" in shown

    assert "Kafka Server started" in ctl("logs", "broker", "-n", "500", *where).stdout
    assert "serving ClickHouse" in ctl("logs", "clickhouse", *where).stdout

    assert (data / "credentials.json").stat().st_mode & 0o777 == 0o600
    for port in (stack.broker.port, stack.store.port):
        assert listeners(port) == ["0100007F"], "127.0.0.1 and nothing else"

    down = ctl("down", *where)
    assert down.returncode == 0
    assert "stopped broker and clickhouse" in down.stdout
    assert processes_of(data) == []
    assert ctl("down", *where).stdout.startswith("nothing")
    assert ctl("status", *where).returncode == 1

    assert ctl("up", *where).returncode == 0
    assert Stack(data).environ() == stack.environ(), "ports and passwords are kept"
    check_filled(Stack(data))
    assert ctl("down", "--delete", *where).returncode == 0
    assert not data.exists()


def listeners(port: int) -> list[str]:
    """Local addresses that listen on a port, as the kernel's hex (TCP over IPv4; over IPv6 with its own)."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                address = local.rpartition(":")[0]
                found.add(address.removeprefix("0000000000000000FFFF0000"))
    return sorted(found)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_the_foreground_leaves_nothing_behind(data: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [CTL, "up", "--foreground", "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert b"stop it: Ctrl-C" in b"".join(iter(process.stdout.readline, b"stop it: Ctrl-C\n")) + b"stop it: Ctrl-C"
    assert len(processes_of(data)) == 3
    os.kill(process.pid, number)
    process.stdout.close()
    process.wait(timeout=60)
    assert wait_for(lambda: processes_of(data) == []), processes_of(data)


@pytest.mark.parametrize(
    ("mode", "number"), [("foreground", signal.SIGTERM), ("detached", signal.SIGTERM), ("detached", signal.SIGKILL)]
)
def test_broken_off_while_it_starts(data: Path, mode: str, number: signal.Signals) -> None:
    options = ["--foreground"] if mode == "foreground" else []
    process = subprocess.Popen([CTL, "up", *options, "--data", str(data)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: len(processes_of(data)) >= 3)
    process.send_signal(number)
    process.wait()
    if mode == "detached" and number == signal.SIGKILL:
        # Nobody could take back what runs on; but it is known by its command line, and `down` ends it.
        (data / "state.json").unlink()
        assert ctl("down", "--data", str(data)).returncode == 0
    assert wait_for(lambda: processes_of(data) == []), processes_of(data)


def test_down_stops_what_another_terminal_holds(data: Path) -> None:
    process = subprocess.Popen(
        [CTL, "up", "--foreground", "--data", str(data)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    stack = Stack(data)
    assert wait_for(lambda: all(service.running and service.healthy for service in Stack(data).services))
    assert ctl("down", "--data", str(data)).returncode == 0
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "stopped from elsewhere" in said
    assert stack.data == data


def test_a_service_that_ends_by_itself_ends_the_foreground(data: Path) -> None:
    process = subprocess.Popen(
        [CTL, "up", "--foreground", "--data", str(data)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert wait_for(lambda: all(service.running and service.healthy for service in Stack(data).services))
    Stack(data).store.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "clickhouse ended by itself" in said
    assert processes_of(data) == []


def test_faults_keep_ports_and_data(local_stack: Stack) -> None:
    local_stack.start(tied=True)
    fill(local_stack)
    environ = local_stack.environ()
    for service in local_stack.services:
        before = service.process
        service.pause()
        assert service.running
        assert not service.healthy
        service.resume()
        assert wait_for(lambda s=service: s.healthy)  # type: ignore[misc]
        service.kill()
        assert not service.running
        service.start()
        assert service.healthy
        assert service.process != before
    check_filled(local_stack)
    local_stack.store.restart()
    assert local_stack.environ() == environ
    check_filled(local_stack)
    assert len(processes_of(local_stack.data)) == 2
    local_stack.broker.pause()  # a stopped process must not keep `stop` waiting
    local_stack.stop()
    assert processes_of(local_stack.data) == []


def test_a_port_in_use_is_said(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for option, name in (("--kafka-port", "broker"), ("--clickhouse-port", "clickhouse")):
            up = ctl("up", "--data", str(data), option, port)
            assert up.returncode == 2
            assert f"port {port} of 127.0.0.1 is in use: free it, or give the {name} another one" in up.stderr
            assert processes_of(data) == []


def test_bad_settings_and_folders_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    up = ctl("up", "--data", str(tmp_path / "file" / "below"))
    assert up.returncode == 2
    assert "data folder" in up.stderr
    assert "TRAINWIRE_LOCAL_KAFKA_PORT" in ctl("up", "--data", str(tmp_path / "x"), TRAINWIRE_LOCAL_KAFKA_PORT="99999").stderr
    assert "did you mean" in ctl("up", "--data", str(tmp_path / "x"), TRAINWIRE_LOCAL_KAFKA_PROT="1").stderr
    assert "needs Java 17" in ctl("up", "--data", str(tmp_path / "x"), TRAINWIRE_LOCAL_JAVA="/bin/false").stderr


def test_a_stale_record_harms_no_stranger(data: Path) -> None:
    """The record of a process that ended names an id that somebody else has now: `down` must leave that one alone."""
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        identity = Identity.of(stranger.pid)
        assert identity is not None
        data.mkdir()
        record = {"pid": stranger.pid, "started": identity.started - 1, "boot": identity.boot}
        (data / "state.json").write_text(json.dumps({"ports": {"broker": free_port()}, "processes": {"broker": record}}))
        assert ctl("down", "--data", str(data)).stdout.startswith("nothing")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_given_passwords_and_further_listeners(tmp_path: Path) -> None:
    """A listener with its own protocol is what tests of SASL and TLS build on."""
    port = free_port()
    users = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_shipper="secret";'
    options = BrokerOptions(
        listeners=(Listener("SECURE", "SASL_PLAINTEXT", port),),
        config={
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": users,
            "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        },
    )
    stack = Stack(tmp_path / "stack", LocalSettings(viewer_password=Secret("my viewer")), options)
    try:
        stack.start(tied=True)
        login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "shipper"}
        admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}", sasl_plain_password="secret", **login)
        assert admin.list_topics() is not None
        admin.close()
        assert stack.password("viewer") == "my viewer"
        with store_client(stack, "viewer") as client:
            assert client.query("SELECT 1").result_rows == [(1,)]
    finally:
        stack.remove()

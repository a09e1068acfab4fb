"""The gateway as people start it: its own process on a free port, ended with the test."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

PATIENCE = 60.0  # seconds for the process to listen; 2 on an idle machine


@contextlib.contextmanager
def running_gateway(environ: Mapping[str, str], log: Path) -> Iterator[str]:
    """The address (with the base path) of a gateway with these settings. Its log goes to `log`."""
    environ = {
        **os.environ,
        "TRAINWIRE_GATEWAY_PORT": "0",
        "TRAINWIRE_GATEWAY_FOLDER": str(log.with_suffix(".folder")),
        **environ,
    }
    with log.open("w+b") as out:
        process = subprocess.Popen([sys.executable, "-m", "gateway"], env=environ, stdout=out, stderr=out)
        try:
            yield _address(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            finally:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        text = log.read_text()
        if "startup complete" in text and (found := re.search(r"listening on (http://\S+)/tasks", text)):
            return found[1]
        if process.poll() is not None:
            break
        pause.wait(0.05)
    raise AssertionError(f"the gateway did not come up:\n{log.read_text()}")

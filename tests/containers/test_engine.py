"""`deploy/docker/engine.sh`: an engine that ended makes way for the next one at once.

Two jobs of `.ci/run` begin and end one in turn; the second found the first one's pid file and did not start.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "deploy/docker/engine.sh"


def test_an_engine_that_ends_makes_way_for_the_next_one(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/docker.sock"
    environ = os.environ | {"DOCKER_HOST": address, "DOCKER_OPTIONS": "--iptables=false --ip6tables=false --bridge=none"}

    def engine(*arguments: str) -> str:
        # a network of its own: an engine that begins without a bridge takes away that of the other tests' engine
        command = ["unshare", "--mount", "--net", str(ENGINE), str(tmp_path), *arguments]
        return subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout

    try:
        assert engine() == f"DOCKER_HOST={address}\n"
        with subprocess.Popen([ENGINE, tmp_path, "end"], env=environ):  # beside the next one's beginning
            while (tmp_path / "docker.sock").exists():
                pass
            engine()
        subprocess.run(["docker", "version"], env=environ, check=True, capture_output=True, timeout=30)
    finally:
        engine("end")
    assert not (tmp_path / "docker.pid").exists()

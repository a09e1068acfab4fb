"""The main job as a person starts it, with programs killed meanwhile; the demo's own checker compares with the truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


@pytest.mark.services
@pytest.mark.timeout(400)
def test_every_point_and_line_of_two_real_tasks_survives_two_kills(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")}
    environ |= {"TRAINWIRE_LOCAL_DATA": str(tmp_path / "stack"), "DEMO_PAUSE": "0.06"}
    done = subprocess.run(
        [sys.executable, "-m", "deploy.demo", "--check", "--kill"],
        cwd=TOP,
        env=environ,
        capture_output=True,
        text=True,
        timeout=380,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    compared = re.findall(r"(\d+) points and (\d+) lines compared, 0 differ", done.stdout)
    assert len(compared) == 2
    assert sum(int(points) for points, _ in compared) >= 500
    assert "killed worker with -9" in done.stdout
    assert "killed shipper-boosting with -9" in done.stdout
    alive = subprocess.run(["pgrep", "-f", str(tmp_path / "stack")], capture_output=True, text=True)
    assert alive.stdout == "", "a process of the demo was left behind"

"""The two distributions as users install them: built, installed elsewhere, imported."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def build(project: Path, to: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to)], cwd=project, check=True, capture_output=True
    )
    (wheel,) = to.glob("*.whl")
    return wheel


def test_the_writing_tool_is_a_wheel_of_its_own_without_dependencies(tmp_path: Path) -> None:
    wheel = build(TOP / "producers" / "sdk", tmp_path / "dist")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
        archive.extractall(tmp_path / "site")
    assert "trainwire/py.typed" in names
    assert "Requires-Dist" not in metadata
    assert "Requires-Python: >=3.9" in metadata
    code = "import trainwire; run = trainwire.init('t', dir='logs'); run.log({'loss': 0.5}, step=1); run.finish()"
    subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); {code}"],
                   cwd=tmp_path, check=True)  # fmt: skip
    (log,) = (tmp_path / "logs").iterdir()
    assert '"m":{"loss":0.5}' in log.read_text()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    with zipfile.ZipFile(build(TOP, tmp_path_factory.mktemp("dist"))) as archive:
        return archive.namelist()


def test_the_platform_wheel_holds_the_contract_and_not_the_sdk(platform: list[str]) -> None:
    assert "schemas/clickhouse/0001_tables.sql" in platform
    assert "stream_jobs/extract/engine.py" in platform
    assert not [name for name in platform if name.startswith(("producers/sdk", "tests/", "bench/"))]
    assert not [name for name in platform if "node_modules" in name]


def test_the_platform_wheel_holds_the_built_page(platform: list[str]) -> None:
    assert "gateway/page/static/index.html" in platform

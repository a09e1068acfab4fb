"""`make demo`: the whole road on this machine, from two training processes to the page."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from deploy.demo.check import Query, compare
from deploy.demo.prober import Prober, percentile
from deploy.local import process
from deploy.local.ports import free_port
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from runtime.errors import EXIT_TEMPORARY, TrainwireError
from runtime.settings import load

BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
SETTLE = 60.0  # seconds for the last line to arrive after the last training ended


class Demo:
    """Programs, tasks and files of one run."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.folder = stack.data / "demo"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.run = time.strftime("%H%M%S")  # task ids differ from run to run: a task is one training job
        self.tasks = {
            "digits": f"demo-digits-{self.run}",
            "boosting": f"demo-boosting-{self.run}",
            "prober": f"demo-prober-{self.run}",
        }
        self.programs: dict[str, tuple[list[str], dict[str, str], process.Identity]] = {}
        self.page, self.worker_health = (f"127.0.0.1:{free_port()}" for _ in range(2))

    def logs(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def start(self, name: str, command: list[str], **settings: str) -> None:
        """Start a program of ours; the kernel ends it with this process."""
        user = "viewer" if name == "gateway" else "writer"
        environ = {**os.environ, **self.stack.environ(user), **settings, "PYTHONUNBUFFERED": "1"}
        identity = process.spawn(command, output=self.stack.data / "logs" / f"{name}.log", environ=environ, tied=True)
        self.programs[name] = (command, settings, identity)

    def kill(self, name: str) -> None:
        """-9, and started again: what it had not finished must neither be lost nor doubled."""
        command, settings, identity = self.programs[name]
        identity.signal(signal.SIGKILL)
        identity.end(5)
        self.start(name, command, **settings)
        print(f"killed {name} with -9 and started it again", flush=True)

    def start_programs(self) -> None:
        migrated = subprocess.run([BIN / "trainwirectl", "migrate", "up"], env={**os.environ, **self.stack.environ()})
        if migrated.returncode:
            raise TrainwireError("the store of an earlier version is in the way: remove it with `trainwirectl down --delete`")
        self.start("worker", [str(BIN / "trainwire-worker")], TRAINWIRE_WORKER_HEALTH=self.worker_health)
        self.start("gateway", [str(BIN / "trainwire-gateway")], TRAINWIRE_GATEWAY_PORT=self.page.rpartition(":")[2])
        for name, task in self.tasks.items():
            self.start(
                f"shipper-{name}",
                [str(BIN / "trainwire-shipper")],
                TRAINWIRE_TASK_ID=task,
                TRAINWIRE_LOGS=str(self.logs(name) / "*"),
                TRAINWIRE_SHIPPER_HEALTH="127.0.0.1:0",
            )
        self._wait_for("gateway", f"http://{self.page}/healthz")
        self._wait_for("worker", f"http://{self.worker_health}/readyz")

    def start_tasks(self) -> list[subprocess.Popen[bytes]]:
        """The training itself: plain processes that know no broker."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")}
        digits = [sys.executable, str(HERE / "digits.py"), str(self.folder / "digits.journal")]
        boosting = [sys.executable, str(HERE / "boosting.py"), str(self.folder / "boosting.journal")]
        wrapped = [str(BIN / "trainwire"), "run", "--task", self.tasks["boosting"], "--dir", str(self.logs("boosting"))]
        wrapped += ["--name", "breast cancer, boosted trees", "--", *boosting]
        quiet = subprocess.DEVNULL
        return [
            subprocess.Popen(
                digits, env={**environ, "TRAINWIRE_TASK_ID": self.tasks["digits"], "TRAINWIRE_LOG_DIR": str(self.logs("digits"))}
            ),
            subprocess.Popen(wrapped, env=environ, stdout=quiet),
        ]

    def follow(self) -> list[subprocess.Popen[bytes]]:
        environ = {**os.environ, **self.stack.environ("viewer")}
        return [
            subprocess.Popen([BIN / "trainwirectl", "tail", "--follow", "--metrics", self.tasks[name]], env=environ)
            for name in ("digits", "boosting")
        ]

    def wait_for_lines(self, query: Query) -> None:
        """Until both tasks have lines in the store, or a minute has passed."""
        deadline = time.monotonic() + 60
        sql = "SELECT uniqExact(task_id) AS tasks FROM lines WHERE task_id IN ({digits:String}, {boosting:String})"
        wanted = {name: self.tasks[name] for name in ("digits", "boosting")}
        while int(query.rows(sql, **wanted)[0]["tasks"]) < len(wanted) and time.monotonic() < deadline:
            time.sleep(0.2)

    def _wait_for(self, name: str, address: str) -> None:
        """Until a program says that it is there. Raises `TrainwireError` with its last words when it does not come up."""
        deadline = time.monotonic() + 60  # four seconds on an idle machine
        log = self.stack.data / "logs" / f"{name}.log"
        while True:
            try:
                with urllib.request.urlopen(address, timeout=2):  # noqa: S310  # an address of our own
                    return
            except OSError:
                if time.monotonic() > deadline or not self.programs[name][2].alive():
                    last = log.read_text().splitlines()[-1:]
                    raise TrainwireError(f"the {name} did not come up: {' '.join(last)} (see {log})") from None
                time.sleep(0.1)


def check(demo: Demo, query: Query) -> int:
    """Compare both tasks with the truth, waiting for the last line for a bounded time. Returns the exit code."""
    deadline = time.monotonic() + SETTLE
    failed = 0
    for name in ("digits", "boosting"):
        logs = [path for path in demo.logs(name).iterdir() if path.is_file()]
        verdict = compare(query, demo.tasks[name], demo.folder / f"{name}.journal", logs)
        while verdict.faults and time.monotonic() < deadline:
            time.sleep(0.5)
            verdict = compare(query, demo.tasks[name], demo.folder / f"{name}.journal", logs)
        failed += bool(verdict.faults)
        print(f"{verdict.task}: {verdict.points} points and {verdict.lines} lines compared, {len(verdict.faults)} differ")
        for fault in verdict.faults[:20]:
            print(f"  {fault}")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare every point and line with the truth, then end")
    parser.add_argument("--kill", action="store_true", help="kill the worker and a shipper with -9 in the middle")
    options = parser.parse_args()
    settings = load(LocalSettings, os.environ)
    stack = Stack(Path(settings.data), settings)
    try:
        stack.start(tied=True, progress=lambda text: print(text, flush=True))
        return _run(Demo(stack), check_at_end=options.check, kill=options.kill)
    except KeyboardInterrupt:
        return 0
    except TrainwireError as error:
        print(f"demo: {error}", file=sys.stderr)
        return EXIT_TEMPORARY
    finally:
        stack.stop()


def _run(demo: Demo, *, check_at_end: bool, kill: bool) -> int:
    demo.start_programs()
    viewer = demo.stack.environ("viewer")
    query = Query(
        viewer["TRAINWIRE_CLICKHOUSE_URL"],
        viewer["TRAINWIRE_CLICKHOUSE_USER"],
        viewer["TRAINWIRE_CLICKHOUSE_PASSWORD"],
        "trainwire",
    )
    print(f"\n  the page:  http://{demo.page}/tasks\n", flush=True)
    prober = Prober(query, demo.tasks["prober"], demo.logs("prober") / "probe.log")
    training = demo.start_tasks()
    following = demo.follow()
    try:
        demo.wait_for_lines(query)
        prober.start()  # five programs have started on two cores by now: that wait is theirs, not the pipeline's
        if kill:
            time.sleep(8)
            demo.kill("worker")
            time.sleep(4)
            demo.kill("shipper-boosting")
        codes = [process.wait() for process in training]
        unseen = prober.stop()
        code = check(demo, query) if check_at_end else 0
    finally:
        for process_ in (*training, *following):
            process_.terminate()
            process_.wait()
    p50, p99 = (1000 * percentile(prober.latencies, share) for share in (0.5, 0.99))
    print(f"from written line to queryable row: p50 {p50:.0f} ms, p99 {p99:.0f} ms", end="")
    print(f" over {len(prober.latencies)} lines, {unseen} unseen")
    if any(codes):
        print(f"a training ended with {codes}")
    if not check_at_end:
        print(f"\nboth tasks are done; the page stays until Ctrl-C:  http://{demo.page}/tasks", flush=True)
        signal.pause()
    return code or (1 if any(codes) or unseen else 0)


if __name__ == "__main__":
    sys.exit(main())

"""`trainwire run`: real commands, real signals, a real terminal, and a wrapper that is killed."""

from __future__ import annotations

import functools
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRAINWIRE = [sys.executable, "-m", "trainwire"]


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("TRAINWIRE_", "SLURM_", "PYTHONUNBUFFERED"))}


def start(folder: Path, command: list[str], *options: str, **popen: Any) -> subprocess.Popen[bytes]:
    arguments = [*TRAINWIRE, "run", "--task", "t", "--dir", "logs", *options, "--", *command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
    return subprocess.Popen(arguments, cwd=folder, env=environment(), **pipes)


def run(folder: Path, command: list[str], *options: str) -> tuple[int, bytes, bytes]:
    process = start(folder, command, *options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def log_of(folder: Path) -> Path:
    (path,) = (folder / "logs").glob("*.log")
    return path


def begun(folder: Path) -> bool:
    """Whether there is a log file, and the header in it: a folder stands before its file does."""
    return any(b"\n" in path.read_bytes() for path in (folder / "logs").glob("*.log"))


def parts(folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    """(records, the other lines) of the log file."""
    lines = log_of(folder).read_bytes().splitlines(keepends=True)
    records = [json.loads(line) for line in lines if line.startswith(b'{"tw":"')]
    return records, b"".join(line for line in lines if not line.startswith(b'{"tw":"'))


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def test_output_records_and_exit_code(tmp_path: Path) -> None:
    script = "import sys; print('out 雪'); print('err', file=sys.stderr); sys.stdout.write('no end')"
    code, out, err = run(tmp_path, python(script), "--name", "Müller", "--attempt", "2", "--rank", "3", "--start-id", "s-1")
    assert (code, err) == (0, b"")
    text = "out 雪\nerr\nno end".encode()
    assert out == text
    assert re.fullmatch(r"t\.a2\.r3\.[0-9a-f]{8}\.log", log_of(tmp_path).name)
    records, other = parts(tmp_path)
    assert other == text + b"\n"
    assert [(record["tw"], record.get("status"), record.get("code")) for record in records] == [
        ("header", None, None),
        ("status", "running", None),
        ("status", "succeeded", 0),
        ("end", "succeeded", 0),
    ]
    assert log_of(tmp_path).read_bytes().startswith(b'{"tw":"header","t":')
    header = records[0]
    assert (header["name"], header["attempt"], header["rank"], header["start"]) == ("Müller", 2, 3, "s-1")
    assert (header["mode"], header["command"]) == ("run", python(script))


@pytest.mark.parametrize(
    ("command", "code", "end"),
    [
        (["sh", "-c", "exit 3"], 3, {"status": "failed", "code": 3}),
        (["sh", "-c", "kill -9 $$"], 137, {"status": "failed", "signal": 9}),
        (["sh", "-c", "kill -15 $$"], 143, {"status": "failed", "signal": 15}),
        (["sh", "-c", "exit 255"], 255, {"status": "failed", "code": 255}),
        (["true"], 0, {"status": "succeeded", "code": 0}),
    ],
)
def test_exit_codes(tmp_path: Path, command: list[str], code: int, end: dict[str, Any]) -> None:
    assert run(tmp_path, command)[0] == code
    last = parts(tmp_path)[0][-1]
    assert {key: last[key] for key in last if key not in ("tw", "t")} == end


def test_commands_that_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "shebang").write_text("#!/no/such/interpreter\n")
    (tmp_path / "shebang").chmod(0o755)
    for number, (command, code, words) in enumerate(
        [
            ("no-such-command", 127, "command not found: no-such-command"),
            ("./no-such-file", 127, "command not found: ./no-such-file"),
            ("./plain", 126, "cannot execute ./plain: Permission denied"),
            ("./shebang", 127, "the interpreter that its first line names was not found"),
            (".", 126, "cannot execute .: Permission denied"),
        ]
    ):
        found, out, err = run(tmp_path, [command], "--start-id", f"s{number}")
        assert (found, out) == (code, b"")
        assert words in err.decode()
        newest = max((tmp_path / "logs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        records = [json.loads(line) for line in newest.read_bytes().splitlines()]
        assert [record.get("status") for record in records] == [None, "running", "failed", "failed"]
        assert words in records[2]["message"]
        assert records[3]["code"] == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--task", "t"], "which command?"),
        (["run", "--task", "t", "--"], "which command?"),
        (["run", "--", "true"], "TRAINWIRE_TASK_ID"),
        (["run", "--task", "a b", "--", "true"], "1 to 128 of"),
        (["run", "--task", "t", "--rank", "x", "--", "true"], "--rank"),
        (["run", "--task", "t", "--attempt", "0", "--", "true"], "TRAINWIRE_ATTEMPT"),
    ],
)
def test_wrong_calls(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run([*TRAINWIRE, *arguments], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_commands_descriptors_are_the_file_itself(tmp_path: Path) -> None:
    script = """
import fcntl, json, os
stat = [os.fstat(fd) for fd in (1, 2)]
append = [bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND) for fd in (1, 2)]
print(json.dumps([[s.st_ino for s in stat], append, sorted(map(int, os.listdir('/proc/self/fd')))]))
"""
    code, out, _ = run(tmp_path, python(script))
    assert code == 0
    inodes, append, descriptors = json.loads(out)
    assert set(inodes) == {log_of(tmp_path).stat().st_ino}
    assert append == [True, True]
    assert descriptors[:3] == [0, 1, 2]
    assert len(descriptors) == 4  # and the listing's own: nothing of the wrapper's is left open in the command


def test_the_commands_signals_are_as_usual(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
    assert code == 0
    blocked, ignored = (int(line.split()[1], 16) for line in out.decode().splitlines())
    own = 0b11 << 31  # 32 and 33 belong to the C library, whose posix_spawn ignores them in every child
    assert (blocked, ignored & ~own) == (0, 0)


def test_an_sdk_call_inside_says_the_same_start(tmp_path: Path) -> None:
    script = "import trainwire\nwith trainwire.init() as run: run.log({'loss': 0.5}, step=1)"
    code, _, err = run(
        tmp_path, python(script), "--name", "n", "--rank", "1", "--world-size", "2", "--attempt", "4", "--owner", "o"
    )
    assert (code, err) == (0, b"")
    outer = parts(tmp_path)[0][0]
    (path,) = (tmp_path / "logs").glob("*.jsonl")
    inner = json.loads(path.read_text().splitlines()[0])
    for key in ("task", "start", "name", "rank", "world", "attempt", "owner"):
        assert inner[key] == outer[key], key
    assert inner["uuid"] != outer["uuid"]
    assert path.name.split(".")[:4] == log_of(tmp_path).name.split(".")[:4]


TRAP = """
import signal, sys, time
def note(number, frame):
    print("got", number, flush=True)
    if number == signal.SIGTERM: sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, note)
print("ready", flush=True)
while True: time.sleep(0.01)
"""


def test_signals_are_passed_on(tmp_path: Path) -> None:
    process = start(tmp_path, python(TRAP))
    wait_for(lambda: begun(tmp_path) and b"ready" in parts(tmp_path)[1])
    sent = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGTERM]
    for count, number in enumerate(sent, 1):
        process.send_signal(number)
        wait_for(functools.partial(lambda least: parts(tmp_path)[1].count(b"got") >= least, count))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 7
    assert out.decode().split() == ["ready", *(word for number in sent for word in ("got", str(int(number))))]
    last = parts(tmp_path)[0][-1]
    assert (last["status"], last["code"]) == ("stopped", 7)


def test_a_command_that_dies_of_a_signal_passed_on(tmp_path: Path) -> None:
    process = start(tmp_path, ["sh", "-c", "echo ready; exec sleep 60"])
    wait_for(lambda: begun(tmp_path) and b"ready" in parts(tmp_path)[1])
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert (parts(tmp_path)[0][-1]["status"], parts(tmp_path)[0][-1]["signal"]) == ("stopped", signal.SIGTERM)


def test_killing_the_wrapper_does_not_hurt_the_training(tmp_path: Path) -> None:
    script = """
import os, time
for number in range(200):
    print("line", number)
    time.sleep(0.005)
open("done", "w").write(str(os.getpid()))
"""
    process = start(tmp_path, python(script))
    wait_for(lambda: begun(tmp_path) and b"line 20\n" in parts(tmp_path)[1])
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: (tmp_path / "done").exists())
    records, other = parts(tmp_path)
    assert other.decode().splitlines() == [f"line {number}" for number in range(200)]
    assert [record["tw"] for record in records] == ["header", "status"]


def test_a_reader_of_our_stdout_that_leaves_or_sleeps_does_not_matter(tmp_path: Path) -> None:
    script = "for number in range(20000): print('line', number)"
    process = start(tmp_path, python(script))
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert parts(tmp_path)[1].count(b"\n") == 20_000
    (tmp_path / "second").mkdir()
    sleeping = start(tmp_path / "second", python(script))  # 200 kB into a pipe that nobody reads
    wait_for(lambda: begun(tmp_path / "second") and parts(tmp_path / "second")[0][-1]["tw"] == "end")
    sleeping.terminate()
    assert sleeping.wait(timeout=60) == 0
    assert sleeping.stdout is not None
    sleeping.stdout.close()
    assert sleeping.stderr is not None
    sleeping.stderr.close()
    assert process.stderr is not None
    process.stderr.close()


def test_no_log_file_is_no_reason_not_to_train(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    code, out, err = run(tmp_path, ["sh", "-c", "echo trained; exit 4"])
    assert (code, out) == (4, b"trained\n")
    assert b"its output is not recorded" in err


def test_a_second_start_with_the_same_id_gets_a_file_of_its_own(tmp_path: Path) -> None:
    for _ in range(3):
        assert run(tmp_path, ["true"], "--start-id", "deadbeef-1")[0] == 0
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
        "t.a0.r0.deadbeef.2.log",
        "t.a0.r0.deadbeef.3.log",
        "t.a0.r0.deadbeef.log",
    ]


def test_a_parent_that_ignores_the_end_of_children_does_not_cost_the_exit_code(tmp_path: Path) -> None:
    script = f"import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.execv({sys.executable!r}, {TRAINWIRE!r} + "
    arguments = ["run", "--task", "t", "--dir", "logs", "--", "sh", "-c", "sleep 0.1; exit 5"]
    done = subprocess.run(python(f"{script}{arguments!r})"), cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.returncode == 5, done.stderr


def test_quiet(tmp_path: Path) -> None:
    assert run(tmp_path, ["echo", "x"], "--quiet") == (0, b"", b"")
    assert parts(tmp_path)[1] == b"x\n"


class Terminal:
    """A pseudo-terminal with `trainwire run` as its foreground process."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.master, slave = os.openpty()
        become = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
        arguments = [*TRAINWIRE, "run", "--task", "t", "--dir", "logs", "--", *command]
        self.process = subprocess.Popen(
            [sys.executable, "-c", become, *arguments], cwd=folder, env=environment(), stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.seen = b""

    def read_until(self, text: bytes) -> None:
        end = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:  # the other side is gone
                    assert text in self.seen, self.seen

    def close(self) -> int:
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="os.login_tty came with Python 3.11")
def test_ctrl_c_reaches_the_command_once(tmp_path: Path) -> None:
    script = """
import signal, sys, time
count = 0
def note(number, frame):
    global count
    count += 1
signal.signal(signal.SIGINT, note)
print("ready")
while not count: time.sleep(0.01)
time.sleep(0.3)
print("count", count)
sys.exit(9)
"""
    terminal = Terminal(tmp_path, python(script))
    terminal.read_until(b"ready")
    os.write(terminal.master, b"\x03")
    terminal.read_until(b"count")
    assert terminal.close() == 9
    assert b"count 1\n" in parts(tmp_path)[1]
    assert parts(tmp_path)[0][-1]["status"] == "stopped"


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="os.login_tty came with Python 3.11")
def test_what_the_terminal_sends_is_not_passed_on(tmp_path: Path) -> None:
    """Two signals may arrive as one, so this command leaves the terminal's group: what it gets then can only come from us."""
    script = """
import os, signal, time
os.setpgid(0, 0)
got = []
signal.signal(signal.SIGINT, lambda number, frame: got.append(number))
signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
print("ready")
while signal.SIGTERM not in got: time.sleep(0.01)
print("got", *map(int, got))
"""
    terminal = Terminal(tmp_path, python(script))
    terminal.read_until(b"ready")
    os.write(terminal.master, b"\x03")
    time.sleep(0.3)
    terminal.process.terminate()
    terminal.read_until(b"got")
    assert terminal.close() == 0
    assert b"got 15\n" in parts(tmp_path)[1]


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="os.login_tty came with Python 3.11")
def test_bars_move_on_the_terminal_while_their_line_is_open(tmp_path: Path) -> None:
    script = """
import os, sys
sys.stdout.write("10%\\r20%\\r"); sys.stdout.flush()
sys.stdin.readline()
sys.stdout.write("30%\\n")
"""
    terminal = Terminal(tmp_path, python(script))
    terminal.read_until(b"10%\r20%\r")  # before the line has ended
    os.write(terminal.master, b"\n")
    terminal.read_until(b"30%")
    assert terminal.close() == 0
    assert b'{"tw"' not in terminal.seen
    assert parts(tmp_path)[1] == b"10%\r20%\r30%\n"

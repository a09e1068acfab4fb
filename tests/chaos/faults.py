"""What each kind of fault does. A fault returns when it is over: what it stopped goes on, what it killed is started again."""

from __future__ import annotations

import dataclasses
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from kafka import KafkaProducer

from tests.chaos.journal import Script
from tests.chaos.plan import Fault
from tests.chaos.programs import Program, Stage, holds_open, wait_until
from tests.chaos.proxy import Proxy
from tests.chaos.writer import LogFile, Writer

TOPIC = "trainwire.events.v1"
POISON = (b"not json", b"", b"\0" * 1000, b"[1, 2", b'{"v": 99}')


@dataclasses.dataclass
class Scene:
    """What faults act on."""

    stage: Stage
    writer: Writer
    scripts: list[Script]
    seed: int
    poison: int = 0

    def files(self, *forms: str) -> list[LogFile]:
        return [file for file in self.writer.files if file.script.form in forms]


def inject(scene: Scene, fault: Fault) -> None:
    chance = random.Random(fault.seed)
    FAULTS[fault.kind](scene, fault.seconds, chance)


def _kill(program: Program, seconds: float) -> None:
    program.kill()
    time.sleep(seconds)
    program.start()


def _leave(program: Program, seconds: float) -> None:
    program.stop()
    time.sleep(seconds)
    program.start()


def _freeze(program: Program, seconds: float) -> None:
    program.signal(signal.SIGSTOP)
    time.sleep(seconds)
    program.signal(signal.SIGCONT)


def _worker(scene: Scene, chance: random.Random) -> Program:
    return chance.choice(scene.stage.workers[:2])


def _lose_checkpoint(scene: Scene, seconds: float, chance: random.Random) -> None:
    scene.stage.shipper.kill()
    shutil.rmtree(scene.stage.logs / "once" / ".trainwire")
    time.sleep(seconds)
    scene.stage.shipper.start()


def _full_disk(scene: Scene, seconds: float, chance: random.Random) -> None:
    """No byte can be written to any file by the shipper: what a full disk does to it."""
    pid = scene.stage.shipper.pid
    _limit(pid, 0)
    time.sleep(seconds)
    _limit(pid, resource.RLIM_INFINITY)


def _limit(pid: int, size: int) -> None:
    try:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    except ProcessLookupError:
        return  # it was killed meanwhile


def _join(scene: Scene, seconds: float, chance: random.Random) -> None:
    scene.stage.workers[2].start()
    time.sleep(seconds)
    scene.stage.workers[2].stop()


def _service(name: str, act: str) -> Callable[[Scene, float, random.Random], None]:
    def fault(scene: Scene, seconds: float, chance: random.Random) -> None:
        service = scene.stage.stack.broker if name == "broker" else scene.stage.stack.store
        getattr(service, act)()
        time.sleep(seconds)
        (service.resume if act == "pause" else service.start)()

    return fault


def _link(which: Callable[[Stage], Proxy], act: Callable[[Proxy], None]) -> Callable[[Scene, float, random.Random], None]:
    def fault(scene: Scene, seconds: float, chance: random.Random) -> None:
        link = which(scene.stage)
        act(link)
        time.sleep(seconds)
        link.heal()

    return fault


def _rename(scene: Scene, seconds: float, chance: random.Random) -> None:
    chance.choice(scene.files("text", "json", "equal", "record")).rename()


def _chain(scene: Scene, seconds: float, chance: random.Random) -> None:
    """Five renames within so many seconds: faster than anybody reads."""
    file = chance.choice(scene.files("text", "json", "equal", "record"))
    for _ in range(5):
        file.rename()
        file.grow(chance.randrange(200))
        time.sleep(seconds / 5)


def _copytruncate(scene: Scene, seconds: float, chance: random.Random) -> None:
    chance.choice(scene.files("text", "json", "equal", "record")).copytruncate(seconds)


def _delete_while_behind(scene: Scene, seconds: float, chance: random.Random) -> None:
    stage = scene.stage
    number = len(scene.scripts)
    task = chance.choice(scene.writer.files).script.task
    script = Script(task, f"short{number}", "text", scene.seed)
    file = LogFile(stage.logs / "once" / task / f"short{number}.log", script, scene.seed)
    scene.scripts.append(script)
    file.grow(50)
    if not wait_until(lambda: holds_open(stage.shipper.pid, file.path), 30):
        raise AssertionError(f"the shipper has not opened {file.path.name} within 30 s")
    stage.shipper_link.cut()
    file.grow(2000)
    file.delete()
    file.close()
    time.sleep(seconds)
    stage.shipper_link.heal()


def _poison(scene: Scene, seconds: float, chance: random.Random) -> None:
    """Messages that are none of ours, on every partition."""
    producer = KafkaProducer(bootstrap_servers=scene.stage.stack.bootstrap, acks="all")
    for _ in range(12):
        producer.send(
            TOPIC, value=chance.choice(POISON), key=chance.choice((None, b"chaos", b"\xff")), partition=chance.randrange(4)
        )
        scene.poison += 1
    producer.flush()
    producer.close()


FAULTS: dict[str, Callable[[Scene, float, random.Random], None]] = {
    "kill shipper": lambda scene, seconds, _: _kill(scene.stage.shipper, seconds),
    "stop shipper": lambda scene, seconds, _: _freeze(scene.stage.shipper, seconds),
    "restart shipper": lambda scene, seconds, _: _leave(scene.stage.shipper, seconds),
    "lose checkpoint": _lose_checkpoint,
    "full disk": _full_disk,
    "kill worker": lambda scene, seconds, chance: _kill(_worker(scene, chance), seconds),
    "zombie worker": lambda scene, seconds, chance: _freeze(_worker(scene, chance), seconds),
    "stop worker": lambda scene, seconds, chance: _freeze(_worker(scene, chance), seconds),
    "worker joins": _join,
    "worker leaves": lambda scene, seconds, chance: _leave(_worker(scene, chance), seconds),
    "kill broker": _service("broker", "kill"),
    "restart broker": _service("broker", "stop"),
    "stop broker": _service("broker", "pause"),
    "kill store": _service("store", "kill"),
    "restart store": _service("store", "stop"),
    "stop store": _service("store", "pause"),
    "cut shipper from broker": _link(lambda stage: stage.shipper_link, Proxy.cut),
    "delay shipper to broker": _link(lambda stage: stage.shipper_link, lambda link: link.delay(0.7)),
    "lose broker answers": _link(lambda stage: stage.shipper_link, Proxy.lose_answers),
    "cut worker from broker": _link(lambda stage: stage.worker_link, Proxy.cut),
    "delay worker to broker": _link(lambda stage: stage.worker_link, lambda link: link.delay(0.7)),
    "cut worker from store": _link(lambda stage: stage.store_link, Proxy.cut),
    "delay worker to store": _link(lambda stage: stage.store_link, lambda link: link.delay(0.7)),
    "lose store answers": _link(lambda stage: stage.store_link, Proxy.lose_answers),
    "rename": _rename,
    "rename chain": _chain,
    "copytruncate": _copytruncate,
    "replace": lambda scene, _, chance: chance.choice(scene.files("table")).replace(in_place=False),
    "rewrite": lambda scene, _, chance: chance.choice(scene.files("table")).replace(in_place=True),
    "truncate": lambda scene, _, chance: chance.choice(scene.files("equal", "text")).truncate(),
    "delete while behind": _delete_while_behind,
    "poison": _poison,
    "broker away": _service("broker", "stop"),
    "store away": _service("store", "stop"),
}


class Strike(threading.Thread):
    """A fault in a thread of its own, begun after its delay."""

    def __init__(self, scene: Scene, fault: Fault) -> None:
        super().__init__(name=fault.kind, daemon=True)
        self._scene, self.fault = scene, fault
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            time.sleep(self.fault.delay)
            inject(self._scene, self.fault)
        except BaseException as error:
            self.error = error

    def done(self) -> None:
        self.join()
        if self.error is not None:
            raise self.error


def folder_of(logs: Path, form: str) -> Path:
    """Files whose starts say the same are kept by a checkpoint of their own: of those, one that is lost cannot be rebuilt."""
    return logs / ("again" if form == "equal" else "once")

"""Who a process is: arguments, TRAINWIRE_*, then launchers."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from trainwire.identity import Identity, resolve

TASK = {"TRAINWIRE_TASK_ID": "t"}
TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "TORCHELASTIC_RESTART_COUNT": "1"}
SLURM = {"SLURM_PROCID": "2", "SLURM_NTASKS": "4", "SLURM_RESTART_COUNT": "0"}
JOBSET = {"JOB_COMPLETION_INDEX": "5", "JOBSET_RESTART_ATTEMPT": "2"}


@pytest.mark.parametrize("task", ["a", "0", "resnet-7", "team.a:x_1-b", "a" * 128])
def test_task_ids(task: str) -> None:
    assert resolve({}, task_id=task).task == task


@pytest.mark.parametrize(
    "task", ["", "a" * 129, "-a", ".a", "a b", "a'b", "a\\b", "a/b", "été", "a\n", "١", "../x", 7, b"a", "a\x00"]
)
def test_other_task_ids_are_refused_with_what_is_allowed(task: Any) -> None:
    with pytest.raises(ValueError, match="1 to 128 of A-Z a-z 0-9"):
        resolve(TASK, task_id=task)
    if isinstance(task, str) and task:
        with pytest.raises(ValueError, match="1 to 128 of A-Z a-z 0-9"):
            resolve({"TRAINWIRE_TASK_ID": task})


def test_no_task_id() -> None:
    with pytest.raises(ValueError, match="TRAINWIRE_TASK_ID"):
        resolve({"TRAINWIRE_TASK_ID": ""})


@pytest.mark.parametrize(
    ("environ", "rank", "world", "attempt"),
    [
        ({}, 0, 1, None),
        (TORCHRUN, 3, 8, 2),
        (SLURM, 2, 4, 1),
        (JOBSET, 5, 1, 3),
        ({**TORCHRUN, **SLURM, **JOBSET}, 3, 8, 2),
        ({"TRAINWIRE_RANK": "0", "TRAINWIRE_WORLD_SIZE": "2", "TRAINWIRE_ATTEMPT": "7", **TORCHRUN}, 0, 2, 7),
        ({"TRAINWIRE_RANK": "", **SLURM}, 2, 4, 1),
        ({"RANK": "first", "WORLD_SIZE": "-1", "SLURM_NTASKS": "٣"}, 0, 1, None),  # other programs' oddities are not errors
    ],
)
def test_where_rank_world_and_attempt_come_from(environ: dict[str, str], rank: int, world: int, attempt: int | None) -> None:
    found = resolve({**TASK, **environ})
    assert (found.rank, found.world, found.attempt) == (rank, world, attempt)


def test_arguments_win() -> None:
    environ = {**TASK, **TORCHRUN, "TRAINWIRE_RANK": "1", "TRAINWIRE_START_ID": "s1", "TRAINWIRE_NAME": "n1"}
    found = resolve(environ, task_id="u", rank=0, world_size=2, attempt=9, start_id="s2", name="n2", owner="o", project="p")
    assert (found.task, found.rank, found.world, found.attempt, found.start) == ("u", 0, 2, 9, "s2")
    assert (found.name, found.owner, found.project) == ("n2", "o", "p")


@pytest.mark.parametrize(
    "environ", [{"TRAINWIRE_RANK": "x"}, {"TRAINWIRE_ATTEMPT": "0"}, {"TRAINWIRE_WORLD_SIZE": "1.5"}, {"TRAINWIRE_RANK": "-1"}]
)
def test_our_own_variables_are_read_strictly(environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(environ))):
        resolve({**TASK, **environ})


def test_a_start_id_is_made_only_where_there_is_none() -> None:
    first, second = resolve(TASK), resolve(TASK)
    assert uuid.UUID(first.start) != uuid.UUID(second.start)
    assert resolve({**TASK, "TRAINWIRE_START_ID": "pod-1"}).start == "pod-1"
    with pytest.raises(ValueError, match="start id"):
        resolve(TASK, start_id="a b")


def test_file_names_tell_starts_apart_whose_ids_begin_alike() -> None:
    stems = {Identity("t", f"train-pod-{number}").stem() for number in range(50)}
    assert len(stems) == 50
    assert Identity("t", "29e9c8e2-0238-417c-8685-0116e6442c6d", 2, 3).stem() == "t.a2.r3.29e9c8e2"


def test_a_child_says_the_same_start_but_its_launcher_numbers_it() -> None:
    outer = resolve({**TASK, **SLURM}, name="n")
    inner = resolve({**TASK, **SLURM, **outer.environment(), **TORCHRUN})
    assert (inner.task, inner.start, inner.name) == (outer.task, outer.start, "n")
    assert (inner.rank, inner.world, inner.attempt) == (3, 8, 2)
    explicit = resolve(TASK, rank=1, attempt=4)
    assert resolve({**explicit.environment(), **TORCHRUN}).rank == 1
    assert resolve({**explicit.environment(), **TORCHRUN}).attempt == 4


def test_patterns_come_from_the_argument_else_one_a_line() -> None:
    environ = TASK | {"TRAINWIRE_TASK_PATTERNS": "a=(?P<a>1), b\n\n  b=(?P<b>1)\n"}
    assert resolve(environ).patterns == ("a=(?P<a>1), b", "b=(?P<b>1)")
    assert resolve(environ, patterns=["x"]).patterns == ("x",)
    assert resolve(TASK).patterns == ()

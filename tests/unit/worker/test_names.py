"""Tasks with too many metric names: told once, with examples, also when a worker before counted most of them."""

from __future__ import annotations

from stream_jobs.names import Names


def nothing(task: str, most: int) -> list[str]:
    return []


def test_a_task_is_told_once_when_it_has_more_than_the_limit() -> None:
    names = Names(100, nothing)
    assert names.too_many("a", [tuple(f"loss_{step}" for step in range(100))]) == []
    assert names.too_many("a", [("loss_0", "loss_99")] * 50) == []
    assert names.too_many("b", [("loss_100",)]) == []
    examples = names.too_many("a", [("loss_100",)])
    assert len(set(examples)) == 8
    assert all(example.startswith("loss_") for example in examples)
    assert names.too_many("a", [("loss_101",)]) == []


def test_what_a_worker_before_counted_is_asked_of_the_store_once() -> None:
    asked: list[tuple[str, int]] = []

    def stored(task: str, most: int) -> list[str]:
        asked.append((task, most))
        return [f"old_{number}" for number in range(95)]

    names = Names(100, stored)
    assert names.too_many("a", [(f"new_{number}",) for number in range(3)]) == []
    assert asked == []  # a task of few names costs no question
    assert names.too_many("a", [(f"old_{number}",) for number in range(20)]) == []
    assert asked == [("a", 101)]
    assert names.too_many("a", [(f"new_{number}",) for number in range(10)]) != []
    assert len(asked) == 1

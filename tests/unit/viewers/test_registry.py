"""Tools as declared, the choice among them, and names that Kubernetes takes (B64)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.viewers.launchers import pods
from gateway.viewers.registry import Registry, read_tool
from gateway.viewers.settings import LaunchSettings
from gateway.viewers.words import Spec, viewer_id
from runtime.errors import PermanentError

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def test_the_choice_is_explained() -> None:
    registry = Registry.load()
    assert "grafana" not in registry.tools, "hidden without an address"
    assert registry.choose("page", {}).why == "The built-in page was asked for"
    chosen = registry.choose(None, {"points": True, "lines": True})
    assert (chosen.tool.name, "default" in chosen.why) == ("tensorboard", True)
    chosen = registry.choose(None, {"points": False, "lines": True})
    assert chosen.tool.name == "page"
    assert "no points yet" in chosen.why
    assert registry.choose(None, {}).tool.name == "tensorboard"
    with pytest.raises(KeyError):
        registry.choose("nothing", {})


def test_an_operators_file_replaces_ours_and_links_are_filled_in(tmp_path: Path) -> None:
    (tmp_path / "tensorboard.toml").write_text('title = "TB of ours"\nkind = "launched"\ncommand = ["tb"]\n')
    registry = Registry.load(further=str(tmp_path), grafana="https://grafana.example/")
    assert registry.tools["tensorboard"].title == "TB of ours"
    link = registry.link(registry.tools["grafana"], "a:b c", "/base")
    assert link == "https://grafana.example/d/trainwire-task?var-task_id=a%3Ab%20c"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 'x'\nkind = 'launched'\n", "needs a command"),
        ("title = 'x'\nkind = 'other'\n", "launched or link"),
        ("title = 'x'\nkind = 'link'\n", "needs its address"),
        ("title = 'x'\nkind = 'launched'\ncommand = ['a']\nredy = '/'\n", "redy"),
        ("kind = 'link'\nlink = 'x'\n", "title"),
        ("title = 'x'\nkind = 'launched'\ncommand = ['a']\nready = 'x'\n", "begins with /"),
        ("title = 'x'\nkind = 'launched'\ncommand = ['a']\nname = 'A B'\n", "lower-case"),
        ("title = ", "not TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_field(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "tool.toml").write_text(text)
    with pytest.raises(PermanentError, match=said):
        read_tool(tmp_path / "tool.toml")


def spec(task_id: str, owner: str = "ada@example.org") -> Spec:
    return Spec.new(task_id, "tensorboard", owner, "threshold", 0.5, 384)


HOSTILE = [
    "Exp_A/lr=1e-4",
    "exp-a-lr-1e-4",
    "x" * 200,
    "训练任务",
    "-x-",
    ".",
    "ada@example.org",
    "a" * 63,
    "A" * 63,
    "a.b",
    "a-b",
    "a_b",
    "",
]


def test_b64_names_are_valid_and_differ_whatever_the_task_is_called() -> None:
    tool = Registry.load().tools["tensorboard"]
    ids = set()
    for task_id in HOSTILE:
        one = spec(task_id, owner=task_id)
        ids.add(one.id)
        owner = pods.owned_by(one.id, "uid")
        for made in (pods.anchor(one), pods.service(one, tool, owner), pods.pod(one, tool, "/p", owner, LaunchSettings())):
            assert DNS_LABEL.fullmatch(made["metadata"]["name"])
            for name, value in made["metadata"]["labels"].items():
                assert len(value) <= 63
                assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", value), name
    assert len(ids) == len(HOSTILE)
    assert viewer_id("a", "b-c") != viewer_id("a-b", "c")


@given(st.text(max_size=300), st.text(max_size=50))
def test_a_spec_comes_back_as_it_went_whatever_it_holds(task_id: str, owner: str) -> None:
    one = spec(task_id, owner)
    assert Spec.from_text(one.text()) == one
    assert one.text().isascii()


def test_a_pod_has_no_rights_and_only_its_feeder_has_the_store() -> None:
    tool = Registry.load().tools["tensorboard"]
    made = pods.pod(spec("run-1"), tool, "/base/view/run-1/tensorboard/app", pods.owned_by("x", "y"), LaunchSettings())["spec"]
    assert made["automountServiceAccountToken"] is False
    assert made["securityContext"]["runAsNonRoot"] is True
    assert made["restartPolicy"] == "Never"
    (main,), (feeder,) = made["containers"], made["initContainers"]
    for container in (main, feeder):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} <= set(container["resources"])
    assert "envFrom" not in main
    assert feeder["envFrom"] == [{"secretRef": {"name": "trainwire-viewer-store"}}]
    assert "/base/view/run-1/tensorboard/app" in main["command"]
    assert main["readinessProbe"]["httpGet"]["path"] == "/base/view/run-1/tensorboard/app/data/environment"

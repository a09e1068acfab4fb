"""Tools as declared data, and the choice among them.

A tool is a TOML file in `tools/`, or in the operator's folder (TRAINWIRE_GATEWAY_TOOLS), where a file of a known name replaces
ours. `{…}` in commands, paths and links are filled in: python, host, port, data, prefix, task, title, grafana.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from runtime.errors import PermanentError

OURS = Path(__file__).parent / "tools"
NAME = r"[a-z][a-z0-9-]{0,30}"


@dataclasses.dataclass(frozen=True)
class Tool:
    """One tool. `launched` ones run for a task; a `link` leads to a page that is there anyhow."""

    name: str
    title: str
    kind: Literal["launched", "link"]
    command: tuple[str, ...] = ()
    image: str = ""  # for pods; empty: the tool runs as a process only
    port: int = 8000  # in a pod; a process takes a free one
    feed: str = ""  # which form of the task's rows it reads; empty: none
    data_first: bool = False  # it wants its data there before it starts; else both begin at once, which is sooner
    needs: tuple[str, ...] = ()  # what a task must have for it to be chosen by itself: points, lines
    prefix: Literal["keep", "strip"] = "keep"  # keep: the tool serves under the prefix itself
    ready: str = "/"  # path below its root that answers under 400 when it is ready
    shows: str = ""  # path whose JSON is no longer empty when it shows data; waited for where the task has points
    cpu: float = 0.5  # cores reserved
    memory_mib: int = 512  # reserved
    memory_limit_mib: int = 1024  # above it, the viewer ends and its page says so
    mend: tuple[tuple[str, str], ...] = ()  # (wrong, right) in its HTML: addresses that leave the prefix
    chatter: tuple[str, ...] = ()  # path patterns of streams that the tool keeps open by itself: they are nobody's presence
    link: str = ""  # a link's address
    deep_link: str = ""  # what to add to the tool's address to show a curve: {metric} {pattern} {attempt} {rank} {step}
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    start_seconds: float | None = None  # None: the gateway's setting

    def filled(self, texts: Iterable[str], **values: object) -> list[str]:
        return [fill(text, python=sys.executable, **values) for text in texts]

    def is_chatter(self, path: str) -> bool:
        return any(re.fullmatch(pattern, path) for pattern in self.chatter)


@dataclasses.dataclass(frozen=True)
class Choice:
    """A tool, and why this one: a sentence for the person who asked and for the record."""

    tool: Tool
    why: str


def fill(text: str, **values: object) -> str:
    """Replace `{name}` by its value; other braces stay as they are."""
    return re.sub(r"\{([a-z_]+)\}", lambda m: str(values[m[1]]) if m[1] in values else m[0], text)


class Registry:
    """All tools, and the rules that choose one."""

    def __init__(self, tools: Iterable[Tool], default: str) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.default = default

    @classmethod
    def load(cls, *, further: str = "", default: str = "tensorboard", grafana: str = "") -> Registry:
        """Ours, then the operator's. Raises `PermanentError` naming file and field."""
        folders = [OURS, *([Path(further)] if further else [])]
        if further and not folders[-1].is_dir():
            raise PermanentError(f"TRAINWIRE_GATEWAY_TOOLS={further}: no such folder")
        found: dict[str, Tool] = {}
        for folder in folders:
            for file in sorted(folder.glob("*.toml")):
                tool = read_tool(file)
                found[tool.name] = dataclasses.replace(tool, link=fill(tool.link, grafana=grafana.rstrip("/")))
        if not grafana:
            found.pop("grafana", None)
        if default not in found:
            raise PermanentError(
                f"TRAINWIRE_GATEWAY_DEFAULT_TOOL={default!r}: no such tool; there are {', '.join(sorted(found))}"
            )
        return cls(found.values(), default)

    def choose(self, wanted: str | None, has: Mapping[str, bool]) -> Choice:
        """By request, then by what the task has, then by default. Raises `KeyError` for a tool that nobody knows."""
        if wanted:
            return Choice(self.tools[wanted], f"{self.tools[wanted].title} was asked for")
        default = self.tools[self.default]
        if not (missing := [what for what in default.needs if not has.get(what)]):
            return Choice(
                default, f"{default.title} is the default, and the task has {' and '.join(default.needs) or 'all it needs'}"
            )
        for tool in sorted(self.tools.values(), key=lambda tool: (tool.kind != "link", tool.name)):
            if tool.needs and tool.name != default.name and all(has.get(what) for what in tool.needs):
                return Choice(
                    tool,
                    f"the task has no {' and no '.join(missing)} yet for {default.title}, but it has {' and '.join(tool.needs)}",
                )
        return Choice(default, f"{default.title} is the default; the task has no {' and no '.join(missing)} yet")

    def link(self, tool: Tool, task_id: str, base_path: str) -> str:
        return fill(tool.link, task=quote(task_id, safe=""), base=base_path)


def read_tool(file: Path) -> Tool:
    """One TOML file. Raises `PermanentError` naming file and field."""
    try:
        raw: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PermanentError(f"{file}: not TOML: {error}") from None
    raw.setdefault("name", file.stem)
    fields = {field.name: field for field in dataclasses.fields(Tool)}
    if unknown := sorted(set(raw) - set(fields)):
        raise PermanentError(f"{file}: unknown field {unknown[0]!r}; known are {', '.join(fields)}")
    if missing := [name for name in ("title", "kind") if name not in raw]:
        raise PermanentError(f"{file}: {missing[0]!r} is missing")
    for name, value in raw.items():
        raw[name] = tuple(tuple(one) if isinstance(one, list) else one for one in value) if isinstance(value, list) else value
    tool = Tool(**raw)
    wrong = (
        f"name {tool.name!r}: use lower-case letters, digits and -"
        if not re.fullmatch(NAME, tool.name)
        else f"kind {tool.kind!r}: use launched or link"
        if tool.kind not in ("launched", "link")
        else "a launched tool needs a command"
        if tool.kind == "launched" and not tool.command
        else "a link needs its address in `link`"
        if tool.kind == "link" and not tool.link
        else f"prefix {tool.prefix!r}: use keep or strip"
        if tool.prefix not in ("keep", "strip")
        else f"ready {tool.ready!r}: a path begins with /"
        if not tool.ready.startswith("/")
        else ""
    )
    if wrong:
        raise PermanentError(f"{file}: {wrong}")
    return tool

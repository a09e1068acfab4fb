"""What migrations have made, read from their own statements: each table and view as it should stand today.

The record of migrations says what was done once; what somebody dropped since, only a comparison with the store tells.
"""

from __future__ import annotations

import dataclasses
import graphlib
import re
from collections.abc import Iterable
from typing import Literal

# What it takes to have one again. A `table` holds what came, and is empty when it is made anew. A `feed` is a materialized
# view that writes to a `kept` table: what it missed, and what that table held, is read again from its source. A `view` holds
# nothing.
Kind = Literal["table", "kept", "feed", "view"]


@dataclasses.dataclass(frozen=True)
class Made:
    """A table or view, and the statements that make it as it should be where there is none."""

    name: str
    kind: Kind
    statements: tuple[str, ...]
    uses: frozenset[str] = frozenset()  # what must be there before


def inventory(statements: Iterable[str], database: str) -> list[Made]:
    """All that the statements leave, what is used before what uses it."""
    made: dict[str, Made] = {}
    for statement in statements:
        words = _MAKES.match(statement)
        if words is None:
            continue
        name, deed = words["name"], words["deed"]
        if deed.startswith("DROP"):
            made.pop(name, None)
        elif deed.startswith("ALTER"):
            made[name] = dataclasses.replace(made[name], statements=(*made[name].statements, statement))
        else:
            kind: Kind = "table" if "TABLE" in deed else "feed" if "MATERIALIZED" in deed else "view"
            uses = frozenset(re.findall(rf"\b{database}\.(\w+)", statement)) - {name}
            made[name] = Made(name, kind, (statement,), uses)
    for feed in [one for one in made.values() if one.kind == "feed"]:
        head, select = feed.statements[0].split(" AS\n", 1)
        target = re.search(rf" TO {database}\.(\w+)", head)
        if target is None:
            raise ValueError(f"{feed.name} keeps its rows itself: give it a table, so that they can be made again")
        kept = dataclasses.replace(made[target[1]], kind="kept", uses=feed.uses - {target[1]})
        fill = f"INSERT INTO {database}.{kept.name}\n{select}"  # what stands there already is no more for it
        made[kept.name] = _whole_or_not_at_all(kept, fill, database)
        made[feed.name] = _whole_or_not_at_all(feed, fill, database)
    order = graphlib.TopologicalSorter({one.name: one.uses & made.keys() for one in made.values()}).static_order()
    return [made[name] for name in order]


_MAKES = re.compile(
    r"(?P<deed>CREATE(?: OR REPLACE)?(?: MATERIALIZED)? VIEW|CREATE TABLE|ALTER TABLE|DROP (?:TABLE|VIEW))"
    r"(?: IF (?:NOT )?EXISTS)? \w+\.(?P<name>\w+)"
)


def _whole_or_not_at_all(made: Made, fill: str, database: str) -> Made:
    """It gets its name when it is filled: whoever is killed in between leaves it missing, and it is made again.

    A feed writes from the first moment on; without its kept table nothing arrives that a feed would write.
    """
    name, beside = f"{database}.{made.name}", f"{database}.{made.name}_under_way"
    cluster = found[0] if (found := re.search(r" ON CLUSTER '[^']*'", made.statements[0])) else ""
    return dataclasses.replace(
        made,
        statements=(
            f"DROP TABLE IF EXISTS {beside}{cluster}",
            *(statement.replace(name, beside, 1) for statement in made.statements),
            fill.replace(f"INTO {name}\n", f"INTO {beside}\n", 1),
            f"RENAME TABLE {beside} TO {name}{cluster}",
        ),
    )

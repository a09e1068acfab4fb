"""What statements leave: the last word on each table and view, in an order in which they can be made."""

from __future__ import annotations

from cli.migrate import LOST
from schemas.inventory import Made, inventory
from schemas.migrations import Layout, all_migrations

STATEMENTS = (
    "CREATE TABLE IF NOT EXISTS tw.rows\n(x UInt64) ENGINE = MergeTree ORDER BY x",
    "CREATE TABLE IF NOT EXISTS tw.gone\n(x UInt64) ENGINE = MergeTree ORDER BY x",
    "CREATE OR REPLACE VIEW tw.shown AS\nSELECT x FROM tw.rows",
    "CREATE OR REPLACE VIEW tw.counted AS\nSELECT count() FROM tw.shown",
    "ALTER TABLE tw.rows ADD COLUMN IF NOT EXISTS y UInt64",
    "CREATE ROW POLICY IF NOT EXISTS some ON tw.rows FOR SELECT USING 1 TO ALL",
    "INSERT INTO tw.rows SELECT 1, 2",
    "CREATE OR REPLACE VIEW tw.later AS\nSELECT y FROM tw.rows",
    "CREATE OR REPLACE VIEW tw.shown AS\nSELECT y FROM tw.later",
    "DROP TABLE IF EXISTS tw.gone",
)


def test_the_last_word_on_each_counts_and_what_is_used_comes_first() -> None:
    rows, later, shown, counted = inventory(STATEMENTS, "tw")
    assert rows == Made("rows", "table", (STATEMENTS[0], STATEMENTS[4]))
    assert later == Made("later", "view", (STATEMENTS[7],), frozenset({"rows"}))
    assert shown == Made("shown", "view", (STATEMENTS[8],), frozenset({"later"}))
    assert counted.name == "counted"


def test_what_a_feed_writes_is_filled_before_it_has_its_name_on_a_cluster_too() -> None:
    statements = [one for migration in all_migrations() for one in migration.statements(Layout("tw", cluster="main"))]
    made = {one.name: one for one in inventory(statements, "tw")}
    for name in ("newest_words", "to_newest_words"):
        drop, create, fill, rename = made[name].statements
        assert drop == f"DROP TABLE IF EXISTS tw.{name}_under_way ON CLUSTER 'main'"
        assert f" tw.{name}_under_way ON CLUSTER 'main'" in create
        assert fill.startswith("INSERT INTO tw.newest_words" + ("_under_way\n" if name == "newest_words" else "\n"))
        assert rename == f"RENAME TABLE tw.{name}_under_way TO tw.{name} ON CLUSTER 'main'"


def test_people_are_told_what_each_table_takes_along() -> None:
    statements = [one for migration in all_migrations(server=True) for one in migration.statements(Layout("tw"))]
    assert {one.name for one in inventory(statements, "tw") if one.kind == "table"} == set(LOST)

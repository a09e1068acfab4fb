"""docs/sql.md: as the schema is, and every example runs and answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from clickhouse_connect.driver.client import Client

from schemas.migrations import Layout, all_migrations
from schemas.reference import EXAMPLES, document, views
from tests.contract.grafana_session import Grafana

pytestmark = pytest.mark.services

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
ASKED = [(view, question, sql) for view, asked in EXAMPLES.items() for question, sql in asked]


def test_the_page_is_what_the_schema_says(grafana: Grafana, grafana_writer: Client) -> None:
    database = str(grafana_writer.database)
    page = document(database, lambda sql: grafana.reader.query(sql).result_rows)
    assert page.replace(database, "trainwire") == PAGE.read_text("utf-8"), "run `make docs`"


def test_every_view_is_on_the_page_with_its_meaning() -> None:
    page = PAGE.read_text("utf-8")
    for name, meaning in views().items():
        assert f"\n## {name}\n\n{meaning}\n" in page
        assert len(meaning) >= 20
    assert set(EXAMPLES) <= set(views())


@pytest.mark.parametrize(("view", "question", "sql"), ASKED, ids=[question for _, question, _ in ASKED])
def test_an_example_runs_and_answers(view: str, question: str, sql: str, grafana: Grafana) -> None:
    assert sql in PAGE.read_text("utf-8")
    assert re.search(rf"\b{view}\b", sql)
    task = {"curves": "attempts", "drawn_curves": "attempts", "lines": "edges", "events": "edges"}.get(view, "broken")
    here = sql.replace("'resnet-7'", "'attempts'" if "params" in sql else f"'{task}'")
    here = here.replace("'resnet-8'", "'ranks'").replace("'resnet'", "'rank'")
    rows = grafana.reader.query(here.replace("today()", "today() - 2")).result_rows
    assert rows or view == "rejected_messages"


@pytest.mark.parametrize("cluster", ["", "replicas"])
def test_the_engine_parses_what_only_a_server_runs(cluster: str, grafana_writer: Client) -> None:
    """Roles, quotas and row policies are parsed, not run: the engine here has no users."""
    kinds = set()
    for migration in set(all_migrations(server=True)) - set(all_migrations()):
        for statement in migration.statements(Layout(str(grafana_writer.database), cluster=cluster)):
            statement = statement.replace("Replicated", "")  # the front refuses that engine's name before it is parsed
            tree = grafana_writer.query(f"EXPLAIN AST {statement}").result_rows
            kinds.add(str(tree[0][0]).split()[0])
    assert {"CreateSettingsProfileQuery", "CreateRoleQuery", "GrantQuery", "CreateQuotaQuery"} <= kinds, kinds
    assert len(kinds) == 6, kinds  # and CREATE TABLE, CREATE ROW POLICY


def test_every_table_of_tasks_has_a_row_policy() -> None:
    """A table that a reader may read and that no policy limits would show everything."""
    text = "".join(migration.text for migration in all_migrations(server=True))
    policies = re.findall(r"CREATE ROW POLICY IF NOT EXISTS trainwire_limited \{on_cluster\}\n(.*?)FOR SELECT", text, re.DOTALL)
    limited = set(re.findall(r"\{database\}\.(\w+)", "".join(policies)))
    tables = set()
    for migration in all_migrations():
        for name, body in re.findall(r"CREATE TABLE IF NOT EXISTS \{database\}\.(\w+)(.*?);\n", migration.text + "\n", re.DOTALL):
            if "task_id" in body:
                tables.add(name)
    assert limited == tables

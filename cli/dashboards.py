"""`trainwirectl dashboards`: build, check, push."""

from __future__ import annotations

import os
from typing import Any

import click

from runtime.errors import EXIT_FAILED, PermanentError
from runtime.settings import load

_NEEDS = "the dependency group `grafana` (make setup installs it)"


@click.group("dashboards", help="Grafana's dashboards and alert rules: build, check, push.")
def command() -> None:
    pass


@command.command(help="Write the generated files that differ from the code.")
def build() -> None:
    for path in _files().write():
        click.echo(f"deploy/grafana/{path}")


@command.command(help="Exit 1 where a committed file differs from what the code builds. Changes nothing.")
@click.pass_context
def check(ctx: click.Context) -> None:
    changed = _files().drift()
    for path in changed:
        click.echo(f"deploy/grafana/{path} differs from the code: run `trainwirectl dashboards build`")
    click.echo(f"{len(changed)} files differ" if changed else "every file is as the code builds it")
    ctx.exit(EXIT_FAILED if changed else 0)


@command.command(help="Create or update the dashboards in a running Grafana (TRAINWIRE_GRAFANA_URL, TRAINWIRE_GRAFANA_TOKEN).")
@click.option("--prune", is_flag=True, help="Also delete dashboards of ours that this version no longer has.")
def push(prune: bool) -> None:
    _files()
    from deploy.grafana.push import push as run
    from deploy.grafana.settings import GrafanaSettings

    for change in run(load(GrafanaSettings, os.environ), prune=prune):
        click.echo(f"{change.done:10} {change.thing}")
        if change.done == "missing":
            click.echo("           provision it from deploy/grafana/provisioning/datasources: panels stay empty without it")


def _files() -> Any:
    """The module, or an error that says how to install what it needs."""
    try:
        from deploy.grafana import files
    except ModuleNotFoundError as error:
        raise PermanentError(f"{error.name} is not installed: this verb needs {_NEEDS}") from error
    return files

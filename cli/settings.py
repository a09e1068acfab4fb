"""`trainwirectl settings`: the reference of every TRAINWIRE_* setting, from the code that reads them."""

from __future__ import annotations

import click

from cli.gateway import GatewaySettings as CallSettings
from deploy.grafana.settings import GrafanaSettings
from deploy.local.settings import LocalSettings
from gateway.settings import Settings as GatewaySettings
from producers.shipper.settings import Settings as ShipperSettings
from runtime.settings import reference
from stream_jobs.settings import Settings as WorkerSettings

PROGRAMS = {
    "trainwire-shipper": ShipperSettings,
    "trainwire-worker": WorkerSettings,
    "trainwire-gateway": GatewaySettings,
    "trainwirectl up": LocalSettings,
    "trainwirectl dashboards push": GrafanaSettings,
    "trainwirectl view, viewers, stop": CallSettings,
}


def document() -> str:
    """The Markdown page of all programs' settings."""
    parts = [
        "# Settings\n",
        "Written by `make docs` from the code that reads them. A name with the prefix `TRAINWIRE_` that is not here is an error.",
        "An empty value is the default. What the writing tool reads stands in producers/sdk/README.md.",
    ]
    for program, settings in PROGRAMS.items():
        parts.append(f"\n## {program}\n\n{reference(settings)}")
    return "\n".join(parts) + "\n"


@click.command("settings", help="Print every setting with its unit, default and reason, as Markdown.")
def command() -> None:
    click.echo(document(), nl=False)

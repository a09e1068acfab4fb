"""`trainwirectl metrics`: the reference of every metric that a program serves, from the list that they count by."""

from __future__ import annotations

import click

from runtime.metrics import PROGRAMS


def document() -> str:
    """The Markdown page of all programs' metrics."""
    parts = [
        "# Metrics\n",
        "From the list that the programs count by, written by `make docs`. Shipper and worker serve them at `/metrics` of the",
        "address that their `_HEALTH` setting gives, the gateway at its own.",
    ]
    for program, metrics in PROGRAMS.items():
        parts.append(f"\n## trainwire-{program}\n\n| name | kind | labels | meaning |\n|---|---|---|---|")
        parts += [
            f"| `trainwire_{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {meaning} |"
            for name, (kind, labels, meaning) in metrics.items()
        ]
    return "\n".join(parts) + "\n"


@click.command("metrics", help="Print every metric with its kind, labels and meaning, as Markdown.")
def command() -> None:
    click.echo(document(), nl=False)

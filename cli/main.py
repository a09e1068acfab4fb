"""`trainwirectl`: one file a verb, imported when it is used, so that `--help` needs none of their libraries."""

from __future__ import annotations

import importlib
import sys

import click

from runtime.errors import EXIT_SETTING, EXIT_TEMPORARY, PermanentError, TemporaryError

# verb: (module that holds a click command named `command`, one line for --help)
VERBS = {
    "up": ("cli.up", "Start the local stack: a broker and the ClickHouse engine on this machine."),
    "down": ("cli.down", "Stop the local stack."),
    "status": ("cli.status", "Say which services of the local stack run, and where."),
    "logs": ("cli.logs", "Show the local stack's own logs."),
    "migrate": ("cli.migrate", "Bring the store's schema up to date: plan, up, status."),
    "tasks": ("cli.tasks", "List tasks, newest first."),
    "tail": ("cli.tail", "Follow a task's log and metrics."),
    "sql": ("cli.sql", "Run a query as the read-only user."),
    "view": ("cli.view", "Show a task in a tool, such as TensorBoard."),
    "viewers": ("cli.viewers", "List the running viewers."),
    "stop": ("cli.stop", "Stop a viewer."),
    "dead-letters": ("cli.dead_letters", "Messages that were put aside: list, show, replay."),
    "replay": ("cli.replay", "Extract a task's stored lines again, with today's rules."),
    "settings": ("cli.settings", "Print every setting with its unit, default and reason."),
    "metrics": ("cli.metrics", "Print every metric that the programs serve."),
    "dashboards": ("cli.dashboards", "Grafana's dashboards and alert rules: build, check, push."),
    "verify": ("cli.verify", "Is everything of a task stored, byte by byte?"),
    "parse": ("cli.parse", "Extract the points of a file, without any service."),
}


class Verbs(click.Group):
    """A group whose commands are imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        if name not in VERBS:
            return None
        command = importlib.import_module(VERBS[name][0]).command
        assert isinstance(command, click.Command)  # noqa: S101  # a verb without a command is a bug of ours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trainwire-platform", prog_name="trainwirectl")
def root() -> None:
    """Ask how a training task is doing, and run what answers.

    Settings come from TRAINWIRE_* (see the README). Exit codes: 0 done, 1 the answer is no, 2 a wrong call or setting,
    75 a service is away (the same call may work later).
    """


def main() -> None:
    """Entry point: failures raised on purpose, and files that cannot be used, become one sentence and an exit code."""
    try:
        root()
    except PermanentError as error:
        click.echo(f"trainwirectl: {error}", err=True)
        sys.exit(EXIT_SETTING)
    except TemporaryError as error:
        click.echo(f"trainwirectl: {error}", err=True)
        sys.exit(EXIT_TEMPORARY)
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"trainwirectl: cannot use {error.filename}: {error.strerror}", err=True)
        sys.exit(EXIT_SETTING)

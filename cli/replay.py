"""`trainwirectl replay TASK`: a task's points once more, from its stored lines, by the extraction of today."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import click

from cli import words
from runtime.errors import EXIT_FAILED
from runtime.metrics import Metrics
from runtime.settings import StoreSettings, load
from stream_jobs.again import Again
from stream_jobs.archive import Archive
from stream_jobs.batch import Batch
from stream_jobs.sink import Sink


@click.command("replay")
@click.argument("task")
@click.argument("files", nargs=-1, metavar="[FILE_ID]…")
def command(task: str, files: tuple[str, ...]) -> None:
    """Extract the stored lines of TASK again, with the rules of this version.

    Nothing is seen of it until a file is done, and whatever is interrupted can be run again. Bytes whose lines have
    expired keep the points that they have; so do TensorBoard's event files, which are not kept as lines.
    """
    metrics = Metrics("worker")
    stop = threading.Event()
    stop.set()  # a person waits: the first failure ends it, and the call can be repeated
    sink = Sink(load(StoreSettings, os.environ), metrics, stop=stop)
    archive = Archive(sink)
    with ThreadPoolExecutor(3) as pool:
        again = Again(archive, sink, pool, lambda: Batch("trainwirectl", metrics))
        wanted = list(files) or archive.files_of(task)
        known = archive.load([(task, file_id) for file_id in wanted])
        for file_id in wanted:
            file = known.get((task, file_id))
            if file is None:
                click.echo(f"{words.harmless(file_id)}: nothing of it is stored", err=True)
                raise SystemExit(EXIT_FAILED)
            extracted, stored = again.replay(file)
            kept = f", {stored - extracted} keep their points" if extracted < stored else ""
            click.echo(f"{words.harmless(file_id)}: {extracted} of {stored} bytes extracted again{kept}")
    if not wanted:
        click.echo(f"nothing is stored of task {words.harmless(task)}", err=True)
        raise SystemExit(EXIT_FAILED)

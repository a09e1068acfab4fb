"""`trainwirectl dead-letters`: messages that were put aside: list, show, replay."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click
from clickhouse_connect.driver.exceptions import ClickHouseError

from cli import words
from runtime.broker import client_options
from runtime.errors import EXIT_FAILED, PermanentError, TemporaryError
from runtime.portions import portions
from runtime.settings import KafkaSettings, StoreSettings, load
from runtime.store import connect

# The client gives a String that is no UTF-8 back as hexadecimal digits; asked for as such, every value comes whole.
_HEAD = "topic, partition, offset, reason, message, task_id, toString(arrived) AS came, length(value) AS size"
_WHOLE = _HEAD + (", hex(key) AS key_hex, headers.name AS header_names, headers.value AS header_values, hex(value) AS value_hex")
PLACES = 200  # letters a query, of which each is named in it


def _rows(columns: str, condition: str, parameters: dict[str, Any], limit: int) -> Sequence[dict[str, Any]]:
    settings = load(StoreSettings, os.environ)
    sql = (
        f"SELECT {columns} FROM dead_letters FINAL WHERE {condition}"
        " ORDER BY arrived, topic, partition, offset LIMIT {limit:UInt32}"
    )
    try:
        with connect(settings) as client:
            return list(client.query(sql, parameters=parameters | {"limit": limit}).named_results())
    except ClickHouseError as error:
        raise TemporaryError(f"the store at {settings.url} did not answer: {str(error).splitlines()[0]}") from error


def _whole(heads: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    """The letters of these heads with their bytes, no more at a time than fit an answer: a message may have 2 MiB."""
    for portion in portions(heads, lambda head: 2 * int(head["size"]), most=PLACES):  # two digits a byte
        keys = [(head["topic"], head["partition"], head["offset"], head["reason"]) for head in portion]
        condition = "(topic, partition, offset, reason) IN {keys:Array(Tuple(String, UInt32, UInt64, String))}"
        yield _rows(_WHOLE, condition, {"keys": keys}, len(keys))


def _condition(task: str, reason: str) -> tuple[str, dict[str, Any]]:
    parts = ["1"]
    if task:
        parts.append("task_id = {task:String}")
    if reason:
        parts.append("reason = {reason:String}")
    return " AND ".join(parts), {"task": task, "reason": reason}


def _headers(row: dict[str, Any]) -> list[tuple[str, str]]:
    return list(zip(row["header_names"], row["header_values"], strict=True))


def _place(text: str) -> tuple[str, int, int]:
    match = re.fullmatch(r"(.+)/(\d+)/(\d+)", text)
    if match is None:
        raise PermanentError(f"{text!r} is no place of a message: give TOPIC/PARTITION/OFFSET, as `list` prints it")
    return match[1], int(match[2]), int(match[3])


@click.group("dead-letters", help="Messages that were put aside: list, show, replay.")
def command() -> None:
    pass


@command.command("list", help="One line a message: place, reason, task, when it came, what was wrong.")
@click.option("--task", default="", help="Only of this task.")
@click.option("--reason", default="", help="Only of this reason.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 100_000), help="At most so many.")
def list_command(task: str, reason: str, limit: int) -> None:
    for row in _rows(_HEAD, *_condition(task, reason), limit):
        cells = [f"{row['topic']}/{row['partition']}/{row['offset']}", row["reason"], row["task_id"], row["came"], row["message"]]
        click.echo("\t".join(words.harmless(cell) for cell in cells))


@command.command("show", help="All of one message: headers, and its bytes as text.")
@click.argument("place", metavar="TOPIC/PARTITION/OFFSET")
def show(place: str) -> None:
    topic, partition, offset = _place(place)
    rows = _rows(
        _WHOLE,
        "topic = {topic:String} AND partition = {partition:UInt32} AND offset = {offset:UInt64}",
        {"topic": topic, "partition": partition, "offset": offset},
        10,
    )
    if not rows:
        click.echo(f"no dead letter at {place}", err=True)
        raise SystemExit(EXIT_FAILED)
    for row in rows:
        for name in ("reason", "message", "task_id", "came"):
            click.echo(f"{name:8} {words.harmless(row[name])}")
        click.echo(f"key      {words.harmless(bytes.fromhex(row['key_hex']).decode('utf-8', 'backslashreplace'))}")
        for name, value in _headers(row):
            click.echo(f"header   {words.harmless(name)}: {words.harmless(value)}")
        for line in bytes.fromhex(row["value_hex"]).decode("utf-8", "backslashreplace").split("\n"):
            click.echo(f"  {words.harmless(line)}")


@command.command("replay", help="Send messages to the input topic again; what is stored already is not stored twice.")
@click.argument("places", nargs=-1, metavar="[TOPIC/PARTITION/OFFSET]…")
@click.option("--task", default="", help="All of this task.")
@click.option("--reason", default="", help="All of this reason.")
@click.option("--limit", default=100_000, show_default=True, type=click.IntRange(1), help="At most so many.")
def replay(places: tuple[str, ...], task: str, reason: str, limit: int) -> None:
    if not (places or task or reason):
        raise PermanentError("say which: places as `list` prints them, --task or --reason")
    condition, parameters = _condition(task, reason)
    if places:
        condition += " AND (topic, partition, offset) IN {places:Array(Tuple(String, UInt32, UInt64))}"
        parameters["places"] = [_place(place) for place in places]
    # A row that the store refused was never a message: its letter tells what was in it, and cannot be sent.
    heads = _rows(_HEAD, f"{condition} AND reason != 'rejected-row'", parameters, limit)
    _send(_whole(heads))
    click.echo(f"{len(heads)} messages sent again")


def _send(letters: Iterator[Sequence[dict[str, Any]]]) -> None:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    settings = load(KafkaSettings, os.environ)
    options = client_options(settings, "trainwirectl")
    try:
        producer = KafkaProducer(**options, enable_idempotence=True, compression_type="lz4", max_request_size=4 << 20)
    except KafkaError as error:
        raise TemporaryError(f"no broker at {','.join(settings.bootstrap)} ({error}); set TRAINWIRE_KAFKA_BOOTSTRAP") from error
    try:
        for rows in letters:
            sent = [
                producer.send(
                    settings.topic,
                    value=bytes.fromhex(row["value_hex"]),
                    key=bytes.fromhex(row["key_hex"]) or None,
                    headers=[(name, value.encode()) for name, value in _headers(row)],
                )
                for row in rows
            ]
            for future in sent:
                future.get(timeout=60)
    except KafkaError as error:
        raise TemporaryError(f"the broker did not take all of them ({error}); sending them again does no harm") from error
    finally:
        producer.close(timeout=5)

"""The events on the topic: golden examples bind both ends; whatever else comes is refused with a reason."""

import base64
import dataclasses
import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from schemas.events import Delta, FileEnd, FileRef, Heartbeat, Undecodable, decode, encode

EXAMPLES = sorted(pathlib.Path(schemas.__file__).parent.joinpath("examples/events").rglob("*.json"))


def message(path: pathlib.Path) -> tuple[bytes, bytes, dict[str, bytes]]:
    example = json.loads(path.read_text("utf-8"))
    headers = {name: value.encode() for name, value in example["headers"].items()}
    return example["key"].encode(), base64.b64decode(example["value"]), headers


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_every_example_is_decoded_and_encoded_to_the_same_bytes(path: pathlib.Path) -> None:
    key, value, headers = message(path)
    event = decode(key, value, headers)
    assert headers["ce_type"].decode() == f"dev.trainwire.{path.parent.name}"
    again_key, again_value, again_headers = encode(event)
    assert (again_key, again_value, dict(again_headers)) == (key, value, headers)


def test_there_are_examples_of_every_type() -> None:
    assert {path.parent.name for path in EXAMPLES} == {"delta.v1", "file-end.v1", "heartbeat.v1"}


def test_fields_arrive_as_they_were() -> None:
    key, value, headers = message(next(p for p in EXAMPLES if p.stem == "whole-lines"))
    event = decode(key, value, headers)
    assert isinstance(event, Delta)
    assert (event.file.task, event.file.rank, event.file.world_size, event.file.attempt) == ("resnet-7", 3, 8, 2)
    assert event.file.name == "ResNet Größe 50"
    assert event.end - event.start == len(event.value) == 28
    assert event.time == 1764529800123


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ce_type": None}, "no-type"),
        ({"ce_type": b"dev.trainwire.delta.v9"}, "unknown-version"),
        ({"ce_type": b"org.example.other"}, "unknown-type"),
        ({"ce_task": b"x' OR 1=1 --"}, "bad-task"),
        ({"ce_task": b"other-task"}, "wrong-key"),
        ({"ce_end": b"9999"}, "wrong-length"),
        ({"ce_start": b"-1"}, "malformed"),
        ({"ce_start": None}, "malformed"),
        ({"ce_start": "٣".encode()}, "malformed"),
        ({"ce_time": b"yesterday"}, "malformed"),
        ({"ce_time": b"2026-11-30T19:00:00"}, "malformed"),
        ({"ce_rank": str(2**64).encode()}, "malformed"),
        ({"ce_subject": b"\xff"}, "malformed"),
        ({"ce_container": b"zip"}, "unknown-container"),
        ({"ce_patterns": b"(?P<a>1)"}, "malformed"),
        ({"ce_patterns": b'{"a": 1}'}, "malformed"),
        ({"ce_patterns": b'["a", 1]'}, "malformed"),
        ({"ce_patterns": b'["\\ud800"]'}, "malformed"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, bytes | None], reason: str) -> None:
    key, value, headers = message(next(p for p in EXAMPLES if p.stem == "whole-lines"))
    for name, data in change.items():
        if data is None:
            del headers[name]
        else:
            headers[name] = data
    with pytest.raises(Undecodable) as caught:
        decode(key, value, headers)
    assert caught.value.reason == reason


@pytest.mark.parametrize("value", [None, b"", b"not json", b"[1]", b"{}", b"[" * 100_000])
def test_a_heartbeat_that_is_none_is_refused(value: bytes | None) -> None:
    key, _, headers = message(next(p for p in EXAMPLES if p.stem == "two-files"))
    with pytest.raises(Undecodable):
        decode(key, value, headers)


@given(
    st.binary(max_size=40),
    st.binary(max_size=200),
    st.dictionaries(st.sampled_from(["ce_type", "ce_task", "ce_time"]), st.binary()),
)
def test_no_bytes_raise_anything_else(key: bytes, value: bytes, headers: dict[str, bytes]) -> None:
    with pytest.raises(Undecodable):
        decode(key, value, headers)


TASKS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,20}", fullmatch=True).filter(str.isascii)
NATURAL = st.integers(0, 2**63 - 1)
FILES = st.builds(
    FileRef,
    task=TASKS,
    file_id=st.from_regex(r"[a-f0-9]{1,32}", fullmatch=True),
    path=st.text(),
    start_id=st.text(max_size=20),
    attempt=st.none() | NATURAL,
    rank=st.integers(0, 2**31),
    world_size=st.none() | NATURAL,
    name=st.text(),
)


@given(FILES, st.binary(min_size=1), NATURAL, st.integers(0, 2**40))
def test_a_delta_survives_the_wire(file: FileRef, value: bytes, time: int, start: int) -> None:
    file = dataclasses.replace(
        file, path=file.path.encode("utf-8", "replace").decode(), name=file.name.encode("utf-8", "replace").decode()
    )
    file = dataclasses.replace(file, start_id=file.start_id.encode("utf-8", "replace").decode())
    delta = Delta(file, start, start + len(value), "r", 1, 2, time % 10**13, value)
    assert decode(*encode(delta)) == delta


@given(FILES, st.binary(), NATURAL)
def test_a_path_that_is_no_text_never_stops_an_event(file: FileRef, tail: bytes, size: int) -> None:
    file = dataclasses.replace(file, path="logs/\udcff.log")
    event = decode(*encode(FileEnd(file, "r", size, size, "farewell", 0, tail)))
    assert isinstance(event, FileEnd)
    assert event.file.path == "logs/?.log"
    assert not event.known
    beat = decode(*encode(Heartbeat(file.task, "s", "h", 0, 10_000)))
    assert isinstance(beat, Heartbeat)

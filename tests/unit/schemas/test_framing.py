r"""Bytes to lines: the same lines however a file is read, whatever bytes it holds."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.framing import DELTA_LIMIT, LINE_LIMIT, RECORD_LIMIT, Container, Lines, frame, next_delta, open_segment


def read(
    data: bytes, container: Container = "plain", *, final: bool = True, steps: list[int] | None = None
) -> list[tuple[int, int, str, bool]]:
    """Cut and frame `data` as shipper and worker do, the buffer growing by `steps` (cycled) bytes at a time."""
    rows: list[tuple[int, int, str, bool]] = []
    start = seen = turn = 0
    continuation = ""
    steps = steps or [len(data) or 1]
    while True:
        ended = seen >= len(data)
        cut = next_delta(data[start:seen], container, continuation=continuation, final=final and ended)
        if cut is None:
            if ended:
                return rows
            seen = min(len(data), seen + steps[turn % len(steps)])
            turn += 1
            continue
        lines = frame(data[start : start + cut.length], start, container, continuation=continuation)
        rows += [
            (o, e, t, i in lines.continuations)
            for i, (o, e, t) in enumerate(zip(lines.offsets, lines.ends, lines.texts, strict=True))
        ]
        start, continuation = start + cut.length, cut.continuation


def test_lines_are_named_by_their_offset() -> None:
    assert read(b"a\n\nbc\n") == [(0, 2, "a", False), (2, 3, "", False), (3, 6, "bc", False)]


def test_a_tail_without_line_feed_is_a_line_only_at_a_known_end() -> None:
    assert read(b"a\nstep=10 loss=0.10", final=False) == [(0, 2, "a", False)]
    assert read(b"a\nstep=10 loss=0.10")[-1] == (2, 19, "step=10 loss=0.10", False)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("10%|#\r37%|### | loss=0.412\rstep=5 loss=0.4", "step=5 loss=0.4"),
        ("step=5\r", "step=5"),
        ("loss=1\r        ", "loss=1"),
        ("loss=1\r\x1b[K", "loss=1"),
        ("loss=1\r\x1b]0;title\x07\r", "loss=1"),
        ("\r\r", ""),
        ("", ""),
    ],
)
def test_of_carriage_return_segments_the_last_visible_one_counts(line: str, text: str) -> None:
    assert [row[2] for row in read(line.encode() + b"\n")] == [text]


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    assert [row[2] for row in read(b"\xef\xbb\xbfloss=1\n\xef\xbb\xbfx\n")] == ["loss=1", "\ufeffx"]


@pytest.mark.parametrize("at", [4095, 4096, 4097, 65535, 65536, 65537, DELTA_LIMIT - 1, DELTA_LIMIT])
def test_a_sign_of_three_bytes_survives_every_border(at: int) -> None:
    line = b"x" * (at - 1) + "█ 37%".encode()
    assert [row[2] for row in read(line + b"\nloss=2\n", steps=[at])] == [line.decode(), "loss=2"]


def test_bytes_that_are_no_text_stop_nothing() -> None:
    assert [row[2] for row in read(b"a=1\n\xe2\x96 torn\n\xff\xfe\nb=2\r\n\x00c\n")] == [
        "a=1",
        "\ufffd torn",
        "\ufffd\ufffd",
        "b=2",
        "\x00c",
    ]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_line_is_cut_at_the_limit_and_not_before(over: int) -> None:
    data = b"first\n" + b"y" * (LINE_LIMIT + over) + b"\nlast\n"
    rows = read(data)
    assert [row[3] for row in rows] == ([False, False, True, False] if over > 0 else [False, False, False])
    assert sum(row[1] - row[0] for row in rows) == len(data)


def test_a_long_line_is_cut_at_its_last_carriage_return() -> None:
    bar = b"x" * 999 + b"\r"
    rows = read(bar * 400 + b"loss=3\n")
    assert rows[0][:2] == (0, 262_000)
    assert [row[3] for row in rows] == [False, True]
    assert rows[1][2] == "loss=3"


PIECES = st.lists(
    st.sampled_from(
        [b"loss=0.5", b"\n", b"\r", b"\r\n", b"\xe2\x96\x88", b"\xff", b"\x1b[K", b"z" * 70_000, b"q" * 200_000, b" "]
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(PIECES, st.lists(st.integers(1, 150_000), min_size=1, max_size=5))
def test_however_a_file_is_read_its_lines_are_the_same(pieces: list[bytes], steps: list[int]) -> None:
    data = b"".join(pieces)
    at_once, in_steps = read(data), read(data, steps=steps)
    assert in_steps == at_once
    position = 0
    for offset, end, _, _ in at_once:  # no byte is left out and none is in two lines
        assert offset == position
        position = end
    assert position == len(data)


CRI = (
    b'2026-11-30T19:00:00.123456789Z stdout P {"loss":\n'
    b"2026-11-30T19:00:00.223456789Z stderr F warning\n"
    b"2026-11-30T19:00:00.323456789Z stdout F 0.5}\n"
    b"2026-11-30T20:00:01+01:00 stdout F plain\n"
)


def test_parts_of_a_container_log_are_joined_by_stream() -> None:
    cut = next_delta(CRI, "cri")
    assert cut is not None
    assert cut.length == len(CRI)
    lines = frame(CRI, 0, "cri")
    assert lines.texts == ["warning", '{"loss":0.5}', "plain"]
    assert lines.streams == ["stderr", "stdout", "stdout"]
    assert lines.times == [1796065200223, 1796065200323, 1796065201000]


def test_a_container_delta_ends_where_no_stream_is_open() -> None:
    first, rest = CRI.split(b"\n", 1)
    assert next_delta(first + b"\n", "cri") is None
    cut = next_delta(rest.split(b"\n")[0] + b"\n" + first + b"\n", "cri")
    assert cut is not None
    assert cut.length == rest.index(b"\n") + 1


def test_an_orphan_part_comes_out_at_the_end() -> None:
    rows = read(CRI + b"2026-11-30T19:00:02Z stdout P never closed\n", "cri")
    assert [row[2] for row in rows] == ["warning", '{"loss":0.5}', "plain", "never closed"]


def test_a_part_over_the_limit_goes_on_as_continuation() -> None:
    part = b"2026-11-30T19:00:00Z stdout P " + b"x" * 16_000 + b"\n"
    data = part * 20 + b"2026-11-30T19:00:00Z stdout F end\n2026-11-30T19:00:00Z stdout F loss=1\n"
    rows = read(data, "cri")
    assert [row[3] for row in rows] == [False, True, False]
    assert rows[-1][2] == "loss=1"
    assert len(rows[0][2]) + len(rows[1][2]) == 20 * 16_000 + 3


def record(size: int) -> bytes:
    return struct.pack("<Q", size) + b"CRC!" + b"d" * size + b"CRC!"


def test_event_files_are_cut_at_whole_records() -> None:
    data = record(10) + record(500) + record(7)[:-1]
    cut = next_delta(data, "tfevents")
    assert cut is not None
    assert cut.length == 26 + 516
    lines: Lines = frame(data[: cut.length], 100, "tfevents")
    assert lines.offsets == [100, 126]
    assert lines.records == [record(10), record(500)]
    assert next_delta(data[cut.length :], "tfevents") is None


def test_a_huge_record_travels_as_its_header() -> None:
    data = record(10) + struct.pack("<Q", RECORD_LIMIT + 1) + b"CRC!"
    first = next_delta(data, "tfevents")
    assert first is not None
    assert (first.length, first.elided) == (26, False)
    second = next_delta(data[26:], "tfevents")
    assert second is not None
    assert (second.length, second.elided) == (RECORD_LIMIT + 17, True)


def test_the_open_line_of_a_heartbeat_is_its_newest_segment() -> None:
    assert open_segment(b"\r 10%|# \r 20%|## ") == " 20%|## "
    assert open_segment(b"x" * 100_000 + b"\r 99%|#") == " 99%|#"

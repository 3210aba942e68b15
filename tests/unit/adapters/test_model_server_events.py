"""The reader of server-sent events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.models.event_stream import Event, EventReader

LINES = st.one_of(
    st.sampled_from([b"", b"data", b"data:", b"data: ", b"event: ping", b": comment", b"id: 7", b"retry: 10"]),
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])).map(
        lambda text: f"data: {text}".encode()
    ),
    st.binary(max_size=20).map(lambda data: data.replace(b"\r", b"").replace(b"\n", b"")),
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def read(*pieces: bytes) -> list[Event]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


def split(data: bytes, offsets: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(data) + 1) for offset in offsets), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(STREAMS, st.lists(st.integers(0, 10_000)))
def test_events_do_not_depend_on_how_the_bytes_are_split(stream: bytes, offsets: list[int]) -> None:
    assert read(*split(stream, offsets)) == read(stream)


@given(STREAMS)
def test_events_can_be_read_byte_by_byte(stream: bytes) -> None:
    assert read(*(stream[start : start + 1] for start in range(len(stream)))) == read(stream)


@given(st.lists(st.lists(st.binary(max_size=9).map(lambda data: data.translate(None, b"\r\n")), min_size=1)))
def test_written_events_are_read_back(events: list[list[bytes]]) -> None:
    stream = b"".join(b"".join(b"data: %b\r\n" % line for line in lines) + b"\r\n" for lines in events)

    assert read(stream) == [Event("", b"\n".join(lines)) for lines in events]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata: b\n\n", [Event("", b"a\nb")]),
        (b"data: a\r\rdata: b\r\r", [Event("", b"a"), Event("", b"b")]),
        (b"event: error\ndata: x\n\ndata: y\n\n", [Event("error", b"x"), Event("", b"y")]),
        (b": a comment\n\n: another\ndata: x\n\n", [Event("", b"x")]),
        (b"data:x\n\n", [Event("", b"x")]),
        (b"data:  x\n\n", [Event("", b" x")]),
        (b"data\n\n", [Event("", b"")]),
        (b"event: ping\n\ndata: x\n\n", [Event("", b"x")]),
        (b"id: 1\nretry: 5\nunknown: z\n\n", []),
        (b"\xef\xbb\xbfdata: x\n\n", [Event("", b"x")]),
        ("data: \u00e9\u2028\u0085\n\n".encode(), [Event("", "\u00e9\u2028\u0085".encode())]),
    ],
)
def test_fields_are_read_as_in_the_standard(stream: bytes, events: list[Event]) -> None:
    assert EventReader().feed(stream) == events


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_a_last_event_without_an_empty_line_is_read_at_the_end(end: bytes) -> None:
    reader = EventReader()

    assert reader.feed(b"data: [DONE]" + end) == []
    assert reader.end() == [Event("", b"[DONE]")]

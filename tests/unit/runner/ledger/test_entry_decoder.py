"""The typed decoder accepts the same lines as the rules of level 1, including the JSON Schema."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forum_runner.canonical import canonical
from forum_runner.ledger.entries import KINDS, Entry
from forum_runner.ledger.entry_decoder import EntryDecoder
from forum_runner.ledger.layout import MAX_LINE_BYTES
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.report import Violation
from forum_runner.resources import schema

SCHEMA = schema("entry")
HASH = "d29a1c0a1f2a6f2f8ff0b4a44c6d3b0d9f0f4b4a1f7a5e7f2c3d4e5f60718293"
BODY = {"digest": HASH, "bytes": 312, "type": "text/plain"}
USER_KIND = "x-note"
DECODE = EntryDecoder().decode

# Each value is valid for some members and invalid for others.
NUMBERS = [0, 1, -1, -255, -256, 2**32, 2**53 - 1, 2**53, 2**63, 2**64, 10**30, 1.0, 1.5, 1e16, 1e300]
HASHES = [HASH, HASH.upper(), HASH[1:], f"{HASH}0", f"{HASH[1:]} ", f"{HASH[2:]}  "]
WORDS = (
    "a x-note task.lost task.unknown runner agent:a person: cheap ok error passed none agent schema run live imported"
)
UNUSUAL_TEXTS = ["", "a b", "a\n", "é", "\U0001f600", "\x7f", '"', "\\", "l" * 64, "l" * 65, "l" * 257, "l" * 4097]
TIMES = [
    "2026-11-15T09:00:00.123456Z",
    "2026-13-15T09:00:00.123456Z",
    "2026-11-15T24:00:00.123456Z",
    "2026-11-15T09:00:00Z",
]
IDS = ["01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", "01936b2e-4d10-4a3c-9f00-2b8e6c1d4e5f", "text/plain", "Text/plain"]
LISTS: list[Any] = [[], [0], [1, 0], [0, 0], ["a"], {}, {"a": 1}, BODY]
BODIES = [{**BODY, "salted": salted} for salted in (True, False, None)]
VALUES = [None, True, False, *NUMBERS, *HASHES, *WORDS.split(), *UNUSUAL_TEXTS, *TIMES, *IDS, *LISTS, *BODIES]
NAMES = ["task", "error", "reason", "output", "prompt", "detail", "salted", "a", "B", "é", "wave_plan", "notice"]


def optional(properties: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Generate some optional members of a schema with values from its examples."""
    examples = {name: st.just(rule["examples"][0]) for name, rule in properties.items()}
    return st.fixed_dictionaries({}, optional=examples)


def entry_with(kind: str, data: Any, bodies: Any) -> dict[str, Any]:
    return {
        "v": 1, "run": "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", "seq": 7, "at": "2026-11-15T09:00:00.000000Z",
        "actor": "runner", "kind": kind, "causes": [0, 3], "data": data, "bodies": bodies, "prev": HASH,
    }  # fmt: skip


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from([*KINDS, USER_KIND]))
    data: dict[str, Any] = {"task": "draft", "nested": {"list": [1, [2], {"é": 3}]}}
    bodies = {"text": BODY}
    if kind in KINDS:
        rules = SCHEMA["$defs"][kind]["properties"]
        data = rules["data"]["examples"][0] | draw(optional(rules["data"]["properties"]))
        bodies = dict.fromkeys(rules["bodies"].get("required", ()), BODY)
        bodies |= draw(optional(rules["bodies"]["properties"]))
    return entry_with(kind, data, bodies)


def containers(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else value
    return [value, *(found for item in inner if isinstance(item, dict | list) for found in containers(item))]


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    """Generate entries with up to two members removed, replaced or added."""
    entry = deepcopy(draw(entries()))
    for _ in range(draw(st.integers(0, 2))):
        container = draw(st.sampled_from(containers(entry)))
        if isinstance(container, list):
            container.append(deepcopy(draw(st.sampled_from(VALUES))))
        elif draw(st.booleans()) and container:
            del container[draw(st.sampled_from(sorted(container)))]
        else:
            name = draw(st.sampled_from([*sorted(container), *NAMES]))
            container[name] = deepcopy(draw(st.sampled_from(VALUES)))
    return entry


def is_valid(line: bytes) -> bool:
    try:
        check_line(line)
    except Violation:
        return False
    return True


def is_skipped_by_the_decoder(line: bytes) -> bool:
    """Return whether the decoder skips a line. Keys of a non-ASCII user entry may be ordered differently."""
    return not line.isascii() and b'"kind":"x-' in line


@given(mutants())
@settings(max_examples=800, deadline=None)
def test_the_decoder_and_the_rules_accept_the_same_lines(entry: dict[str, Any]) -> None:
    line = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    decoded = DECODE(line)

    assert (decoded is not None) == (is_valid(line) and not is_skipped_by_the_decoder(line))
    if decoded is not None:
        assert decoded == check_line(line)


DEEP = b'"data":{"a":' + b"[" * 62 + b"]" * 62 + b","
EDITS = [
    *(
        (b'"v":1}', edited)
        for edited in (b'"v":1.0}', b'"v":1e0}', b'"v":01}', b'"v": 1}', b'"v":1,"v":1}', b'"v":1}}')
    ),
    *((b'"v":1}', edited) for edited in (b'"v":1}\n', b'"v":1', b'"v":1,}')),
    *((b'"seq":7', edited) for edited in (b'"seq":7.0', b'"seq":-0', b'"seq":6,"seq":7', b'"seq":"7"')),
    *(
        (b'"runner"', edited)
        for edited in (b'"r\\u0075nner"', b'"\\ud800"', b'"\xff"', b"null", b'"runner","actor":"runner"')
    ),
    *((b"[0,3]", edited) for edited in (b"[0,3,]", b"[0, 3]", b"[" * 5_000 + b"]" * 5_000)),
    *(
        (b'"data":{', edited)
        for edited in (b'"data":{"error":null,', b'"data":{"a":NaN,', DEEP, DEEP.replace(b"[]", b"[[]]"))
    ),
    *[(b'{"actor"', b'\xef\xbb\xbf{"actor"'), (b'"bodies":{', b'"bodies":{"a":{},'), (b'"kind":"', b'"kind":"x-')],
]


@given(entries(), st.sampled_from(EDITS))
@settings(max_examples=400, deadline=None)
def test_the_decoder_rejects_edited_lines_that_the_rules_reject(
    entry: dict[str, Any], edit: tuple[bytes, bytes]
) -> None:
    line = canonical(entry).replace(*edit)

    assert (DECODE(line) is not None) == (is_valid(line) and not is_skipped_by_the_decoder(line))


@given(st.binary(max_size=80))
@example(b"")
@example(b"null")
@example(b"[" * 60_000)
@example(b'{"kind":"' * 5_000)
def test_the_decoder_rejects_arbitrary_bytes(line: bytes) -> None:
    assert DECODE(line) is None


@pytest.mark.parametrize("kind", [*KINDS, USER_KIND])
def test_the_decoder_accepts_an_entry_of_every_kind(kind: str) -> None:
    """Ensure that the comparison covers valid lines of every kind."""
    data = SCHEMA["$defs"][kind]["properties"]["data"]["examples"][0] if kind in KINDS else {"a": [1, {"b": None}]}
    bodies = (
        dict.fromkeys(SCHEMA["$defs"][kind]["properties"]["bodies"].get("required", ()), BODY) if kind in KINDS else {}
    )
    if kind == "run.opened" and "wave_plan" in data:
        bodies = {"wave_plan": BODY}
    elif kind == "task.finished" and data["status"] == "ok":
        bodies = {"output": BODY}

    decoded = DECODE(canonical(entry_with(kind, data, bodies)))

    assert decoded is not None
    assert isinstance(decoded.data, KINDS.get(kind, dict))


def test_a_line_may_have_at_most_65535_bytes() -> None:
    entry = entry_with(USER_KIND, {"text": ""}, {})
    room = MAX_LINE_BYTES - len(canonical(entry))

    longest = canonical({**entry, "data": {"text": "a" * room}})
    too_long = canonical({**entry, "data": {"text": "a" * (room + 1)}})

    assert (DECODE(longest) is not None, DECODE(too_long)) == (True, None)


def test_a_non_ascii_user_entry_is_read_by_the_rules() -> None:
    entry = entry_with(USER_KIND, {"é": "\U0001f600"}, {})

    read = check_line(canonical(entry))

    assert isinstance(read, Entry)
    assert read.data == {"é": "\U0001f600"}

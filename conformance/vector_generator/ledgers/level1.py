"""Lines that violate LEDGER-LINE or LEDGER-ENTRY in a correct chain: only level 1 has a finding."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fake_ledger.files import Body, Entry, Form, canonical, directory_of
from vector_generator.ledgers.bases import MAX_LINE
from vector_generator.ledgers.case import Base, Case, run_files
from vector_generator.ledgers.edits import body, combine, facts, members, reference
from vector_generator.ledgers.row import Row, cases_of

CHANGED_SEQ = 1
"""The entry of `notes` whose line is changed: an `x-note`."""


def _followed_by(text: bytes) -> Form:
    return lambda entry: canonical(entry) + text


def _preceded_by(text: bytes) -> Form:
    return lambda entry: text + canonical(entry)


def _replaced_by(text: bytes) -> Form:
    return lambda _: text


def _with_count(text: bytes) -> Form:
    """The line with `text` as the value of the fact `count`, which is 2."""
    return lambda entry: canonical(entry).replace(b'"count":2', b'"count":' + text, 1)


def _with_actor(text: bytes) -> Form:
    """The line with `person:` and `text` as the actor."""
    return lambda entry: canonical(entry).replace(b'"runner"', b'"person:' + text + b'"', 1)


def _with_data(text: bytes) -> Form:
    """The line with `text` as the whole data."""
    return lambda entry: canonical(entry).replace(b'"data":{"count":2}', b'"data":' + text, 1)


def _with_spaces(entry: Entry) -> bytes:
    return json.dumps(entry, sort_keys=True).encode()


def _keys_reversed(entry: Entry) -> bytes:
    written = (canonical(key) + b":" + canonical(value) for key, value in sorted(entry.items(), reverse=True))
    return b"{" + b",".join(written) + b"}"


def _key_repeated(entry: Entry) -> bytes:
    return b'{"actor":"runner",' + canonical(entry)[1:]


def _overridden_value(text: bytes) -> Form:
    """The line with a repeated key whose first value, `text`, is not allowed in a line."""
    return lambda entry: b'{"actor":' + text + b"," + canonical(entry)[1:]


def _too_long(entry: Entry) -> bytes:
    short = {**entry, "data": {"text": ""}}
    return canonical({**entry, "data": {"text": "x" * (MAX_LINE + 1 - len(canonical(short)))}})


def _too_deep(entry: Entry) -> bytes:
    return _with_data(b'{"nested":' + b"[" * 63 + b"]" * 63 + b"}")(entry)


def _too_long_in_bytes(entry: Entry) -> bytes:
    return canonical({**entry, "data": {"text": "\u00e9" * (MAX_LINE // 2)}})


def _with_seq(text: bytes) -> Form:
    return lambda entry: canonical(entry).replace(b'"seq":%d' % entry["seq"], b'"seq":' + text, 1)


def _with_invalid_actor(form: Form) -> Form:
    """The form of an entry with an invalid actor."""
    return lambda entry: form({**entry, "actor": "somebody"})


def _without_member(name: str) -> Form:
    return lambda entry: canonical({key: value for key, value in entry.items() if key != name})


FORMS: Mapping[str, tuple[str, str, str, str, Form]] = {
    "line-too-long": ("002", "L101", "a line of 65,536 bytes", "the line is one byte too long", _too_long),
    "line-empty": ("003", "L102", "an empty line", "the line is empty", _replaced_by(b"")),
    "line-that-is-null": ("003", "L102", "a line that is null", "the line is `null`", _replaced_by(b"null")),
    "line-that-is-a-list": ("003", "L102", "a line that is a list", "the line is in brackets",
                       lambda entry: b"[" + canonical(entry) + b"]"),
    "line-with-two-objects": ("003", "L102", "a line with two objects",
                              "the line occurs twice without a line feed between",
                              lambda entry: canonical(entry) * 2),
    "line-with-a-trailing-comma": ("003", "L102", "a comma follows the object", "a comma follows", _followed_by(b",")),
    "line-with-a-nul": ("003", "L102", "NUL follows the object", "a NUL follows", _followed_by(b"\0")),
    "line-with-a-byte-order-mark": ("003", "L102", "a line with a byte order mark",
                                    "a byte order mark precedes the line",
                                    _preceded_by(b"\xef\xbb\xbf")),
    "line-with-a-no-break-space": ("003", "L102", "a line with a no-break space, which is not JSON white space",
                                   "a no-break space follows", _followed_by("\u00a0".encode())),
    "line-with-a-line-separator": ("003 001", "L102", "U+2028 follows the object; it does not end the line",
                                   "U+2028 follows", _followed_by("\u2028".encode())),
    "line-with-bad-bytes": ("003", "L102", "a line that is not UTF-8", "the byte 0xff is in the actor",
                            _with_actor(b"\xff")),
    "line-with-an-overlong-character": ("003", "L102", "a line with an overlong UTF-8 sequence",
                                        "an `a` in two bytes is in the actor", _with_actor(b"\xc1\xa1")),
    "line-with-a-raw-surrogate": ("003", "L102", "a line with the bytes of a surrogate",
                                  "U+D800 in three bytes is in the actor", _with_actor(b"\xed\xa0\x80")),
    "line-with-an-escaped-surrogate": ("003", "L102", "a line with an escaped lone surrogate",
                                       "`\\ud800` is in the actor", _with_actor(b"\\ud800")),
    "line-with-a-surrogate-in-a-key": ("003", "L102", "a line with a lone surrogate in a key",
                                       "a key of the data is `\\udc00`", _with_data(b'{"\\udc00":2}')),
    "line-with-a-hidden-surrogate": ("003", "L102", "a lone surrogate under a key that is repeated later",
                                     "`actor` is repeated, first with a lone surrogate",
                                     _overridden_value(b'"\\ud800"')),
    "line-with-a-hidden-surrogate-in-a-key": (
        "003", "L102", "a lone surrogate in a key under a key that is repeated later",
        "`actor` is repeated, first with an object whose key is a lone surrogate", _overridden_value(b'{"\\udc00":1}')),
    "line-with-hidden-depth": ("003", "L102",
                               "lists nested 65 levels deep, counting the entry, under a key that is repeated later",
                               "`actor` is repeated, first with 64 nested lists",
                               _overridden_value(b"[" * 64 + b"]" * 64)),
    "line-with-a-raw-control-character": ("003", "L102", "a line with a control character in a string",
                                          "0x01 is in the actor", _with_actor(b"\x01")),
    "line-too-deep": ("003", "L102", "lists nested 65 levels deep, counting the entry",
                      "the data contains 63 nested lists",
                      _too_deep),
    "line-with-a-leading-zero": ("003", "L102", "a number with a leading zero is not JSON", "`count` is 02",
                                 _with_count(b"02")),
    "line-with-nan": ("003", "L102", "NaN is not JSON", "`count` is NaN", _with_count(b"NaN")),
    "line-with-a-fraction": ("004", "L103", "a number with a fraction", "`count` is 2.0", _with_count(b"2.0")),
    "line-with-an-exponent": ("004", "L103", "a number with an exponent", "`count` is 2e0", _with_count(b"2e0")),
    "line-with-an-integer-too-large": ("004", "L103", "an integer above the maximum", "`count` is 2^53",
                                       _with_count(b"9007199254740992")),
    "line-with-an-integer-too-small": ("004", "L103", "an integer below the minimum", "`count` is -2^53",
                                       _with_count(b"-9007199254740992")),
    "line-with-a-number-beyond-doubles": ("004", "L103", "a number larger than any double", "`count` is 1e400",
                                          _with_count(b"1e400")),
    "line-with-a-hidden-fraction": ("004", "L103", "a number with a fraction under a key that is repeated later",
                                    "`actor` is repeated, first with 2.5", _overridden_value(b"2.5")),
    "line-with-hidden-lists": ("005 003", "L104",
                               "lists nested 64 levels deep, counting the entry, under a key that is repeated later",
                               "`actor` is repeated, first with 63 nested lists",
                               _overridden_value(b"[" * 63 + b"]" * 63)),
    "line-with-spaces": ("005", "L104", "a line with spaces", "spaces follow commas and colons", _with_spaces),
    "line-with-a-leading-tab": ("005", "L104", "a tab precedes the object", "a tab precedes the line",
                               _preceded_by(b"\t")),
    "line-with-a-carriage-return": ("005 001", "L104", "a line with CR before its LF", "a CR follows",
                                    _followed_by(b"\r")),
    "line-with-keys-in-another-order": ("005", "L104", "a line with its keys in another order",
                                        "the keys are reversed", _keys_reversed),
    "line-with-keys-in-order-of-code-points": (
        "005", "L104", "keys are ordered by UTF-16 code units, not by code points",
        "the data has the keys U+FB33 and U+1F600 in that order", _with_data('{"\ufb33":1,"\U0001f600":2}'.encode())),
    "line-with-needless-escapes": ("005", "L104", "a line with an unnecessary escape",
                                   "the actor begins with `\\u0072`",
                                   lambda entry: canonical(entry).replace(b'"runner"', b'"\\u0072unner"', 1)),
    "line-with-an-escaped-slash": ("005", "L104", "a line with an escaped slash", "the actor contains `\\/`",
                                   _with_actor(b"\\/")),
    "line-with-a-negative-zero": ("005", "L104", "a negative zero", "`count` is -0", _with_count(b"-0")),
    "line-with-a-repeated-key": ("005", "L104", "a repeated key", "`actor` is repeated", _key_repeated),
    "line-too-long-in-bytes": ("002", "L101", "a line that is too long in bytes, but not in characters",
                               "the data contains 32,767 characters of two bytes", _too_long_in_bytes),
    "line-too-long-and-not-json": ("002", "L101", "a line that is too long and not JSON",
                                  "the line is 65,536 times `x`",
                                  _replaced_by(b"x" * (MAX_LINE + 1))),
    "line-with-only-spaces": ("003", "L102", "a line of white space", "the line is two spaces", _replaced_by(b"  ")),
    "line-with-a-form-feed": ("003", "L102", "a line with a form feed, which is not JSON white space",
                              "a form feed follows",
                              _followed_by(b"\f")),
    "line-with-a-comma-before-a-bracket": ("003", "L102", "a comma before a closing bracket",
                                   "the data is `{\"count\":2,}`",
                                   _with_data(b'{"count":2,}')),
    "line-with-a-point-without-digits": ("003", "L102", "a number that ends with its point is not JSON",
                                       "`count` is 2.",
                                       _with_count(b"2.")),
    "line-with-a-plus": ("003", "L102", "a number with a plus sign is not JSON", "`count` is +2", _with_count(b"+2")),
    "line-with-infinity": ("003", "L102", "-Infinity is not JSON", "`count` is -Infinity", _with_count(b"-Infinity")),
    "line-with-a-reversed-surrogate-pair": ("003", "L102", "a low surrogate before a high one is not a pair",
                                      "the data contains `\\ude00\\ud83d`", _with_data(b'{"text":"\\ude00\\ud83d"}')),
    "line-with-a-fraction-and-a-surrogate": (
        "003 004", "L102", "only the first of two findings about one line is reported",
            "the data contains 2.5 and `\\ud800`",
        _with_data(b'{"count":2.5,"text":"\\ud800"}')),
    "line-with-a-seq-as-a-double": ("004", "L103", "a seq with a fraction", "`seq` is 1.0", _with_seq(b"1.0")),
    "line-with-thousands-of-digits": ("004", "L103", "an integer of 5,000 digits", "`count` is 5,000 times the digit 9",
                                      _with_count(b"9" * 5000)),
    "line-with-a-fraction-and-spaces": (
        "004 005", "L103", "only the first of two findings about one line is reported",
        "`count` is 2.5, and spaces follow commas and colons",
        lambda entry: _with_spaces({**entry, "data": {"count": 2.5}})),
    "line-with-an-escaped-pair": ("005", "L104", "an escaped character beyond the BMP",
                                  "the data contains `\\ud83d\\ude00`", _with_data(b'{"text":"\\ud83d\\ude00"}')),
    "line-with-an-escape-in-upper-case": ("005", "L104", "an escape with upper-case digits",
                                          "the data contains `\\u001F`", _with_data(b'{"text":"\\u001F"}')),
    "line-with-a-long-escape": ("005", "L104", "an escape that has a shorter form", "the data contains `\\u000a`",
                                _with_data(b'{"text":"\\u000a"}')),
    "line-with-a-repeated-key-in-data": ("005", "L104", "a repeated key in the data",
                                           "`count` is repeated, first with 1", _with_data(b'{"count":1,"count":2}')),
    "line-with-a-key-repeated-by-an-escape": (
        "005", "L104", "a repeated key, once with an escape", "`count` is repeated, first as `\\u0063ount`",
        _with_data(b'{"\\u0063ount":1,"count":2}')),
    "line-with-spaces-and-a-schema-error": (
        "005 ENTRY-001", "L104", "only the first of two findings about one line is reported",
        "spaces follow commas and colons, and the actor is `somebody`", _with_invalid_actor(_with_spaces)),
}  # fmt: skip
"""By name: the requirements, the code, the title, a description of the changed line, and the form that produces it."""

FIRST_FORMS: Mapping[str, tuple[str, str, str, str, Form]] = {
    "first-line-with-a-byte-order-mark": ("003", "L102", "a ledger that begins with a byte order mark",
                                          "a byte order mark precedes the line", _preceded_by(b"\xef\xbb\xbf")),
    "first-line-with-a-negative-zero-seq": ("005", "L104", "the seq of the first line is a negative zero",
                                            "`seq` is -0", _with_seq(b"-0")),
    "first-line-with-only-spaces": ("003", "L102", "a ledger that begins with a line of white space",
                             "the line is two spaces", _replaced_by(b"  ")),
}  # fmt: skip

MEMBERS = ("actor", "at", "bodies", "causes", "data", "kind", "prev", "run", "seq", "v")
MISSING_MEMBERS: Mapping[str, tuple[str, str, str, str, Form]] = {
    f"entry-without-its-{name}": (
        "ENTRY-001",
        "L105",
        f"an entry has no `{name}`",
        f"`{name}` is missing",
        _without_member(name),
    )
    for name in MEMBERS
}


def _schema(name: str, title: str, edit: Any, rules: str = "ENTRY-001", code: str = "L105", seq: int = 1) -> Row:
    return Row(name, "one-task" if rules == "KIND-001" else "notes", rules, code, seq, title, edit)


ENTRIES = (
    _schema("entry-with-another-version", "the version is 2", members(1, v=2)),
    _schema("entry-with-an-extra-member", "an entry has an extra member", members(1, note="x")),
    _schema("entry-with-a-malformed-run", "the run's id is not a UUIDv7",
            members(1, run="01936b2e-4d10-4a3c-9f00-2b8e6c1d4e5f")),
    _schema("entry-with-a-run-in-upper-case", "the run's id is in upper case",
            members(1, run="01936B2E-4D10-7A3C-9F00-2B8E6C1D4E5F")),
    _schema("entry-with-a-negative-seq", "a seq is negative", members(1, seq=-1)),
    _schema("entry-with-a-time-without-microseconds", "a time without microseconds", members(1,
        at="2026-11-15T09:00:01Z")),
    _schema("entry-with-a-leap-second", "a time with 60 seconds", members(1, at="2026-11-15T09:00:60.000000Z")),
    _schema("entry-with-an-offset", "a time that is not in UTC", members(1, at="2026-11-15T09:00:01.000000+01:00")),
    _schema("actor-of-an-unknown-form", "an actor of an unknown form", members(1, actor="somebody")),
    _schema("entry-with-a-malformed-kind", "a kind in upper case", members(1, kind="X-note")),
    _schema("entry-with-causes-in-a-string", "causes that are not a list", members(1, causes="0")),
    _schema("entry-with-data-in-a-list", "data that is not an object", members(1, data=[])),
    _schema("entry-with-a-malformed-body-name", "a body name in upper case",
            members(1, bodies={"First": Body(b"one").reference})),
    _schema("body-without-a-type", "a body without a type", reference(1, "first", type=None), "ENTRY-001 ENTRY-005"),
    _schema("body-with-a-digest-in-upper-case", "a digest in upper case",
            reference(1, "first", digest=Body(b"one").digest.upper()), "ENTRY-001 ENTRY-005"),
    _schema("body-with-salted-false", "`salted` is false instead of absent", reference(1, "first", salted=False),
            "ENTRY-001 ENTRY-005"),
    _schema("seal-without-totals", "a seal without totals", facts(3, totals=None), seq=3),
    _schema("fact-unknown-to-its-kind", "a fact that the entry's kind does not define", facts(0, mood="good"), seq=0),
    _schema("body-unknown-to-its-kind", "a body that the entry's kind does not define",
            body(0, "other", Body(b"one")), seq=0),
    _schema("opened-without-a-bundle", "a wave plan without a bundle", facts(0, bundle=None), "KIND-001",
            seq=0),
    _schema("opened-without-a-wave-plan-body", "a wave plan is named, but its body is missing",
            body(0, "wave_plan", None), "KIND-001", seq=0),
    _schema("wave-plan-body-without-a-plan", "a wave plan's body without a named plan",
            facts(0, wave_plan=None, bundle=None), "KIND-001", seq=0),
    Row("finished-with-an-error-and-an-output", "one-task", "ENTRY-001", "L105", 2,
        "an attempt ends with an error and an output",
        facts(2, status="error", error="internal")),
    Row("agent-check-without-an-agent", "checked", "ENTRY-001", "L105", 6,
        "verdict.asked by an agent does not name the agent",
        facts(6, agent=None)),
    Row("imported-without-a-notice", "imported", "KIND-001", "L105", 0, "an imported ledger has no notice",
        body(0, "notice", None)),
    Row("imported-without-a-source", "imported", "KIND-001", "L105", 0, "an imported ledger does not name its source",
        facts(0, imported=None)),
    Row("imported-with-mode-live", "imported", "KIND-001", "L105", 0, "an imported ledger has the mode live",
        facts(0, mode="live")),
    Row("fact-that-is-prose", "gated", "ENTRY-004", "L105", 2, "prose in place of a small fact",
        facts(2, reason="we wait for somebody to have a look at it")),
    Row("passed-with-a-reason", "one-task", "ENTRY-001", "L105", 3, "a passed task has a reason",
        facts(3, reason="error")),
    _schema("kind-unknown", "an unknown kind", members(1, kind="task.paused"), "ENTRY-002",
            "L106"),
    _schema("kind-unknown-in-a-malformed-entry", "only the first of two findings about one line is reported",
            members(1, kind="task.paused", actor="somebody"), "ENTRY-001 ENTRY-002"),
    _schema("kind-with-a-known-prefix", "an unknown kind with a known prefix",
            combine(members(2, kind="run.ended"), facts(2, count=None)), "ENTRY-002", "L106", 2),
)  # fmt: skip


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    notes = bases["notes"]
    for seq, forms in ((CHANGED_SEQ, FORMS), (0, FIRST_FORMS), (CHANGED_SEQ, MISSING_MEMBERS)):
        for name, (rules, code, title, description, form) in forms.items():
            yield Case(
                name=name,
                title=title,
                requirements=tuple(f"LEDGER-{rule if '-' in rule else 'LINE-' + rule}" for rule in rules.split()),
                level=1,
                files=run_files(directory_of(notes.record, {seq: form})),
                findings=((code, seq),),
                not_checked=notes.not_checked,
                derived_from="ledger/notes",
                mutation=f"the line of entry {seq}: {description}; the chain is recomputed over the lines as found",
            )
    yield from cases_of(ENTRIES, bases)

"""Entries that a single keyword of entry.schema.json rejects, by keyword."""

from collections.abc import Iterator, Mapping
from typing import Any

from fake_ledger.files import RUN, ZEROS
from fake_ledger.ledger_builder import NO_USAGE
from vector_generator.ledgers.bases import IMPORTED_FILE, ONE, TORN_TAIL
from vector_generator.ledgers.case import Base, Case
from vector_generator.ledgers.edits import Edit, body, combine, facts, members, reference, remove_member
from vector_generator.ledgers.limits import BEYOND_BMP, LONG_OUTPUT, LONG_TASK, MAX_CAUSES, bodies, files, torn
from vector_generator.ledgers.row import Row, cases_of

ARABIC_ZERO, FULLWIDTH_ONE = "\u0660", "\uff11"
AT = "2026-11-15T09:00:01.000000Z"


def _entry(name: str, title: str, base: str, seq: int, edit: Edit, rules: str = "ENTRY-001") -> Row:
    return Row(name, base, rules, "L105", seq, title, edit)


def _note(name: str, title: str, **values: Any) -> Row:
    return _entry(name, title, "notes", 1, members(1, **values))


def _body(name: str, title: str, **values: Any) -> Row:
    return _entry(name, title, "notes", 1, reference(1, "first", **values), "ENTRY-001 ENTRY-005")


def _source(name: str, title: str, **values: Any) -> Row:
    """Facts about the source of an imported ledger."""
    source = {"format": "forum-engine", "files": [IMPORTED_FILE], "records": 1, "check": "ok", **values}
    return _entry(name, title, "imported", 0, facts(0, imported=source), "ENTRY-001 KIND-001")


LENGTHS: Mapping[str, tuple[Row, ...]] = {
    "maxLength": (
        _entry("actor-too-long", "an actor of 257 characters", "texts-at-their-limits", 1,
               members(1, actor="person:" + "p" * 250)),
        _entry("kind-too-long", "a kind of 65 characters", "texts-at-their-limits", 2,
               members(2, kind="x-" + "k" * 63)),
        _entry("media-type-too-long", "a media type of 101 characters", "texts-at-their-limits", 4,
               reference(4, "first", type="application/" + "x" * 89), "ENTRY-001 ENTRY-005"),
        _entry("label-too-long", "an implementation name of 257 characters", "texts-at-their-limits", 0,
               facts(0, implementation={"name": "n" * 257, "version": "1"})),
        _entry("task-id-too-long", "a task id of 4,097 characters", "task-id-at-its-limit", 1,
               facts(1, task=LONG_TASK + "t")),
        _entry("output-name-too-long", "an output name of 65 characters", "output-name-at-its-limit", 4,
               facts(4, output=LONG_OUTPUT + "n")),
        _source("file-name-too-long", "a file name of 256 characters", files=[{**IMPORTED_FILE,
            "name": BEYOND_BMP * 256}]),
    ),
    "minLength": (_source("file-name-empty", "an empty file name", files=[{**IMPORTED_FILE, "name": ""}]),),
    "maxItems": (
        _entry("too-many-causes", "an entry with 1,001 causes", "causes-at-their-limit", MAX_CAUSES + 1,
               members(MAX_CAUSES + 1, causes=list(range(MAX_CAUSES + 1)))),
        _entry("too-many-torn-tails", "17 torn tails", "lists-at-their-limits", 1, facts(1, torn=torn(17))),
        _source("too-many-files", "101 files were read", files=files(101)),
    ),
    "minItems": (
        _entry("repaired-without-torn-tails", "an empty list of torn tails", "repaired", 2, facts(2, torn=[])),
        _source("imported-without-files", "an empty list of files", files=[]),
    ),
    "maxProperties": (
        _entry("too-many-bodies", "an entry with 101 bodies", "lists-at-their-limits", 2,
               members(2, bodies=bodies(101))),
    ),
    "minimum": (
        _entry("attempt-zero", "attempts are numbered from 1", "one-task", 1, facts(1, attempt=0)),
        _entry("torn-tail-of-zero-bytes", "a torn tail of zero bytes", "repaired", 2,
               facts(2, torn=[{**TORN_TAIL, "bytes": 0}])),
        _entry("exit-status-too-small", "an exit status of -256", "amounts-at-their-limits", 2,
               facts(2, exit_status=-256)),
        _entry("cause-negative", "a negative cause", "notes", 2, members(2, causes=[-1, 0])),
        _entry("usage-negative", "a negative amount", "one-task", 2,
               facts(2, usage={**NO_USAGE, "wall_ms": -1})),
    ),
    "maximum": (
        _entry("exit-status-too-large", "an exit status of 2^32", "amounts-at-their-limits", 4,
               facts(4, exit_status=2**32)),
    ),
}  # fmt: skip

PATTERNS: Mapping[str, tuple[Row, ...]] = {
    "pattern": (
        _note("actor-with-a-line-feed", "an actor with a line feed at its end", actor="agent:a\n"),
        _note("actor-with-two-lines", "an actor whose second line alone would match the pattern",
            actor="somebody\nrunner"),
        _note("actor-with-a-line-separator", "an actor with U+2028 at its end", actor="agent:a\u2028"),
        _note("actor-with-a-space", "an actor with a space", actor="person:ada lovelace"),
        _note("actor-beyond-ascii", "an actor with a letter beyond ASCII", actor="person:zo\u00eb"),
        _note("actor-without-a-name", "an actor with nothing after its colon", actor="agent:"),
        _note("actor-with-a-prefix", "an actor that matches the pattern only at its end", actor="the runner"),
        _note("kind-with-a-line-feed", "a kind that ends with a line feed", kind="x-note\n"),
        _note("kind-with-a-non-ascii-digit", "a kind with a non-ASCII digit", kind="x-note" + ARABIC_ZERO),
        _note("kind-with-a-hyphen", "a kind with a hyphen instead of a dot", kind="task-paused"),
        _note("kind-without-a-name", "a kind with nothing after `x-`", kind="x-"),
        _note("kind-in-upper-case", "a user-defined kind in upper case", kind="x-Note"),
        _note("run-with-a-line-feed", "a run id that ends with a line feed", run=RUN + "\n"),
        _note("run-with-a-non-ascii-digit", "a run id with a non-ASCII digit", run=ARABIC_ZERO + RUN[1:]),
        _note("run-of-another-variant", "a run id of another UUID variant", run=RUN.replace("-9f00", "-cf00")),
        _note("time-with-a-line-feed", "a time that ends with a line feed", at=AT + "\n"),
        _note("time-with-a-non-ascii-digit", "a time with a non-ASCII digit",
              at=AT.replace("01.0", f"0{FULLWIDTH_ONE}.0")),
        _note("time-with-a-comma", "a time with a comma before its microseconds", at=AT.replace(".", ",")),
        _note("time-in-month-13", "a time in month 13", at="2026-13-15T09:00:01.000000Z"),
        _note("time-on-day-32", "a time on day 32", at="2026-11-32T09:00:01.000000Z"),
        _note("time-with-hour-24", "a time with 24 hours", at="2026-11-15T24:00:00.000000Z"),
        _note("time-with-nanoseconds", "a time with nanoseconds", at="2026-11-15T09:00:01.000000000Z"),
        _note("time-in-lower-case", "a time with a lower-case `t` and `z`", at=AT.lower()),
        _body("digest-with-a-line-feed", "a digest that ends with a line feed", digest=ONE.digest + "\n"),
        _body("digest-with-a-non-ascii-digit", "a digest with a non-ASCII digit", digest=ONE.digest[:63] + ARABIC_ZERO),
        _body("digest-too-short", "a digest of 63 digits", digest=ONE.digest[:63]),
        _body("media-type-with-a-line-feed", "a media type that ends with a line feed", type="text/plain\n"),
        _body("media-type-with-a-parameter", "a media type with a parameter", type="text/plain; charset=utf-8"),
        _body("media-type-in-upper-case", "a media type in upper case", type="Text/Plain"),
        _body("media-type-without-a-slash", "a media type without a slash", type="text"),
        _entry("task-id-with-a-line-feed", "a task id that ends with a line feed", "one-task", 1, facts(1, task="a\n")),
        _entry("task-id-with-a-space", "a task id with a space", "one-task", 1, facts(1, task="a b")),
        _entry("task-id-empty", "an empty task id", "one-task", 1, facts(1, task="")),
        _entry("label-with-a-line-feed", "an implementation version that ends with a line feed", "notes", 0,
               facts(0, implementation={"name": "by-hand", "version": "1\n"})),
    ),
    "propertyNames": (
        _note("body-name-with-a-leading-digit", "a body name that begins with a digit",
              bodies={"1st": ONE.reference}),
        _note("body-name-with-a-line-feed", "a body name that ends with a line feed",
              bodies={"first\n": ONE.reference}),
        _note("body-name-empty", "an empty body name", bodies={"": ONE.reference}),
        _entry("body-name-too-long", "a body name of 65 characters", "texts-at-their-limits", 3,
               members(3, bodies={"b" * 65: ONE.reference})),
    ),
}  # fmt: skip

VALUES: Mapping[str, tuple[Row, ...]] = {
    "type": (
        _note("seq-true", "a seq is `true` instead of an integer", seq=True),
        _note("actor-not-a-string", "an actor that is not a string", actor=1),
        _entry("measured-as-a-number", "`measured` is a number instead of a boolean", "one-task", 2, facts(2,
            measured=1)),
    ),
    "const": (
        _note("version-true", "the version is `true` instead of 1", v=True),
        _note("version-in-a-string", "the version is the string `1`", v="1"),
        _body("salted-as-a-number", "`salted` is 1 instead of `true`", salted=1),
        _entry("opened-in-another-format", "a ledger with another format number", "notes", 0, facts(0, format=2)),
    ),
    "enum": (
        _entry("mode-unknown", "an unknown mode", "notes", 0, facts(0, mode="dry")),
        _entry("mode-in-upper-case", "a mode in upper case", "notes", 0, facts(0, mode="Live")),
        _entry("tier-unknown", "an unknown tier", "one-task", 1, facts(1, tier="huge")),
        _entry("status-unknown", "an unknown status of a seal", "notes", 3,
               facts(3, status="paused")),
        _entry("error-unknown", "an unknown error", "retried", 2, facts(2, error="bad")),
    ),
    "items": (
        _note("cause-in-a-string", "a cause that is a string", causes=["0"]),
        _note("cause-false", "a cause that is `false` instead of 0", causes=[False]),
        _entry("torn-tail-of-an-unknown-file", "a torn tail of an unknown file", "repaired", 2,
               facts(2, torn=[{**TORN_TAIL, "file": "bodies.zip"}])),
    ),
    "properties": (
        _entry("wave-in-a-string", "the number of a wave is a string", "in-waves", 1, facts(1, wave="0")),
    ),
    "$ref": (
        _entry("fingerprint-too-short", "a fingerprint of 63 digits", "one-task", 1, facts(1, fingerprint=ZEROS[1:])),
    ),
}  # fmt: skip

MEMBERS: Mapping[str, tuple[Row, ...]] = {
    "required": (
        _entry("first-entry-without-its-version", "the first entry has no version", "notes", 0, remove_member(0, "v")),
        _body("body-without-a-size", "a body without `bytes`", bytes=None),
        _entry("usage-without-an-amount", "a usage with a missing amount", "one-task", 2,
               facts(2, usage={name: used for name, used in NO_USAGE.items() if name != "wall_ms"})),
    ),
    "additionalProperties": (
        _body("body-with-an-extra-member", "a reference to a body has an extra member", note="one"),
        _entry("usage-with-an-extra-amount", "a usage with an unknown amount", "one-task", 2,
               facts(2, usage={**NO_USAGE, "calls": 1})),
        _entry("fact-named-constructor", "an undefined fact named like a property of JavaScript objects",
               "gated", 2, facts(2, constructor=1)),
        _entry("fact-named-proto", "an undefined fact named `__proto__`", "gated", 2,
               facts(2, __proto__={"reason": "gate"})),
        _entry("body-in-an-entry-without-bodies", "a body in an entry whose kind has none", "gated", 2, body(2, "note",
            ONE)),
    ),
    "dependentRequired": (
        _entry("bundle-without-a-wave-plan", "a bundle without a wave plan", "one-task", 0,
               combine(facts(0, wave_plan=None), body(0, "wave_plan", None)), "ENTRY-001 KIND-001"),
    ),
    "allOf": (
        _entry("task-with-the-facts-of-another-kind", "an entry with the facts of another kind", "one-task", 3,
               facts(3, state=None, attempt=1)),
        _entry("imported-with-an-earlier-run", "an imported ledger names an earlier run", "imported", 0,
               facts(0, **{"from": {"run": RUN, "head": ZEROS}}), "ENTRY-001 KIND-001"),
    ),
    "if": (
        _entry("run-budget-with-a-name", "budget.stopped for the run names a task", "stopped", 4,
               facts(4, name="b")),
    ),
    "then": (
        _entry("error-without-a-kind", "an attempt ends with status `error` without an error kind", "retried", 2,
               facts(2, error=None)),
        _entry("ok-without-an-output", "an attempt ends `ok` without an output", "one-task", 2,
               body(2, "output", None)),
        _entry("verdict-none-without-an-error", "the verdict is none, without an error", "check-asked-again", 4,
            facts(4, error=None)),
        _entry("schema-check-with-usage", "a schema check has a usage", "checked", 3,
               facts(3, usage=NO_USAGE)),
    ),
    "else": (
        _entry("ok-with-an-error", "an attempt ends `ok` and has an error", "one-task", 2, facts(2, error="internal")),
        _entry("command-check-without-its-usage", "a command check has no usage", "checked", 5,
               facts(5, usage=None)),
        _entry("failed-without-a-reason", "a task fails without a reason", "failed", 3, facts(3, reason=None)),
        _entry("agent-budget-without-a-name", "budget.stopped does not name the agent", "stopped", 4, facts(4,
            scope="agent")),
        _entry("live-run-with-a-notice", "a run that was not imported has a notice", "notes", 0,
               body(0, "notice", ONE), "ENTRY-001 KIND-001"),
    ),
}  # fmt: skip

BY_KEYWORD: Mapping[str, tuple[Row, ...]] = {**LENGTHS, **PATTERNS, **VALUES, **MEMBERS}


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    for rows in BY_KEYWORD.values():
        yield from cases_of(rows, bases)

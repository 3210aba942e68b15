"""Valid ledgers at the limits of the schemas: nothing within a limit may be rejected."""

from collections.abc import Iterator
from typing import Any

from fake_ledger.files import ZEROS, Body, Record, lines_of
from fake_ledger.ledger_builder import NO_USAGE
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan, with_digest
from vector_generator.ledgers.bases import MAX_LINE, ONE, imported_from
from vector_generator.ledgers.case import Base
from vector_generator.ledgers.edits import combine, facts
from vector_generator.ledgers.runs import NOTES, retried

MAX_CAUSES = 1_000
LONG_TASK = "t" * 4096
LONG_OUTPUT = "n" * 64
BEYOND_BMP = "\U0001f600"
MAX_EXIT_STATUS = 2**32 - 1
MAX_INTEGER = 2**53 - 1
TIME_ON_31_NOVEMBER = "2026-11-31T09:00:00.000000Z"


def torn(count: int) -> list[dict[str, Any]]:
    return [{"file": "ledger.jsonl", "bytes": size + 1, "digest": ZEROS} for size in range(count)]


def files(count: int) -> list[dict[str, Any]]:
    return [{"name": f"{number}.jsonl", "bytes": 0, "digest": ZEROS} for number in range(count)]


def bodies(count: int) -> dict[str, dict[str, Any]]:
    """References to one body under `count` names."""
    return {f"b{number}": ONE.reference for number in range(count)}


def long_texts() -> Record:
    """Characters: 0 names of 256, 1 an actor of 256, 2 a kind of 64, 3 a body name of 64, 4 a media type of 100."""
    builder = RunBuilder()
    builder.add("x-note", actor="person:" + "p" * 249)
    builder.add("x-" + "k" * 62)
    builder.add("x-note", bodies={"b" * 64: ONE})
    builder.add("x-note", bodies={"first": Body(b"two", "application/" + "x" * 88)})
    return facts(0, implementation={"name": "n" * 256, "version": "v" * 256}).apply(builder.sealed())


def long_lists() -> Record:
    """0 run.opened, 1 run.repaired with 16 torn tails, 2 x-note with 100 bodies, 3 run.sealed."""
    builder = RunBuilder()
    builder.add("run.repaired", {"torn": torn(16)})
    builder.add("x-note", bodies={f"b{number}": ONE for number in range(100)})
    return builder.sealed()


def many_causes() -> Record:
    """1,002 entries and a seal; the causes of entry 1,001 are the 1,000 entries after the first."""
    builder = RunBuilder()
    for _ in range(MAX_CAUSES):
        builder.add("x-n")
    builder.add("x-n", causes=range(1, MAX_CAUSES + 1))
    return builder.sealed()


def long_task_id() -> Record:
    """0 run.opened, 1 started, 2 finished, 3 ended, 4 sealed."""
    builder = RunBuilder(wave_plan({LONG_TASK: task()}))
    builder.complete(LONG_TASK)
    return builder.sealed()


def long_output_name() -> Record:
    """0 run.opened, 1-3 a, 4 answer.given, 5 sealed."""
    builder = RunBuilder(wave_plan({"a": task()}, outputs={LONG_OUTPUT: {"task": "a"}}))
    builder.answer(LONG_OUTPUT, NOTES, builder.complete("a", NOTES))
    return builder.sealed()


def large_amounts() -> Record:
    """Like `retried`: entries 2 and 4 have extreme exit statuses, and entry 4 has the largest integer as its time."""
    usage = {**NO_USAGE, "wall_ms": MAX_INTEGER}
    edit = combine(
        facts(2, exit_status=-255),
        facts(4, exit_status=MAX_EXIT_STATUS, usage=usage),
        facts(6, totals={"calls": 2, **usage}),
    )
    return edit.apply(retried())


def large_totals() -> Record:
    """Like `retried`: the sum of both times is above the largest integer."""
    usage = {**NO_USAGE, "wall_ms": MAX_INTEGER}
    edit = combine(facts(2, usage=usage), facts(4, usage=usage), facts(6, totals={"calls": 2, **usage}))
    return edit.apply(retried())


def longest_line_of_long_characters() -> Record:
    """The line of entry 1 has 65,535 bytes; most of its characters have four bytes."""
    room = MAX_LINE - len(lines_of(_with_note({"text": ""}).entries)[1])
    return _with_note({"text": BEYOND_BMP * (room // 4) + "x" * (room % 4)})


def _with_note(data: dict[str, Any], **members: Any) -> Record:
    builder = RunBuilder()
    builder.add("x-note", data, **members)
    return builder.sealed()


def time_on_31_november() -> Record:
    builder = RunBuilder()
    builder.add("x-note", at=TIME_ON_31_NOVEMBER)
    record = builder.sealed()
    last = {**record.entries[-1], "at": TIME_ON_31_NOVEMBER}
    return Record((*record.entries[:-1], last), record.bodies)


def user_metadata() -> Record:
    """0 run.opened, 1-3 a, 4 sealed."""
    plan = wave_plan({"a": task()})
    builder = RunBuilder(with_digest({**plan, "metadata": {"name": "n" * 64, "x-team": {"size": 3}}}))
    builder.complete()
    return builder.sealed()


def schema_bases() -> Iterator[Base]:
    entry = ("LEDGER-ENTRY-001",)
    yield Base("texts-at-their-limits",
               "an actor, a kind, a body name, a media type and labels of maximum length",
               entry, long_texts(), level=1)  # fmt: skip
    yield Base("lists-at-their-limits", "16 torn tails and an entry with 100 bodies", entry, long_lists(), level=1)
    yield Base("causes-at-their-limit", "an entry with 1,000 causes", (*entry, "LEDGER-ENTRY-003"), many_causes(),
               level=1)  # fmt: skip
    yield Base("task-id-at-its-limit", "a task id of 4,096 characters", entry, long_task_id(), level=1)
    yield Base("output-name-at-its-limit", "an output name of 64 characters", (*entry, "LEDGER-DIR-002"),
               long_output_name(), level=1)  # fmt: skip
    yield Base("amounts-at-their-limits", "the smallest and the largest exit status, and the largest amount", entry,
               large_amounts(), level=1)  # fmt: skip
    yield Base("totals-at-their-limit", "a sum above 2^53 - 1 is recorded as 2^53 - 1", ("LEDGER-SEMANTICS-017",),
               large_totals())  # fmt: skip
    yield Base("file-names-at-their-limit", "100 files were read, one with a name of 255 characters beyond the BMP",
               (*entry, "LEDGER-KIND-001"), imported_from([*files(99), {**files(1)[0], "name": BEYOND_BMP * 255}]),
               level=1)  # fmt: skip
    yield Base(
        "time-on-31-november",
        "a time is only matched against its pattern: 31 November is valid",
        entry,
        time_on_31_november(),
        level=1,
    )
    yield Base("plan-with-user-metadata", "a wave plan name of 64 characters, and user-defined metadata",
               ("LEDGER-SEMANTICS-002",), user_metadata(), level=4)  # fmt: skip


def line_bases() -> Iterator[Base]:
    yield Base("longest-line-of-multibyte-characters", "a line of 65,535 bytes with far fewer characters",
               ("LEDGER-LINE-002",), longest_line_of_long_characters(), level=1)  # fmt: skip
    yield Base("brackets-in-strings", "brackets, braces and escaped quotes in strings are not nesting",
               ("LEDGER-LINE-003",), _with_note({"text": '"[' + "[{" * 50, '"{[': "\\" + '"[' * 70}),
               level=1)  # fmt: skip
    names = ("__proto__", "constructor", "toString", "hasOwnProperty", "")
    yield Base("keys-of-javascript-objects", "keys with a meaning in JavaScript are keys like any other",
               ("LEDGER-ENTRY-002",), _with_note(dict.fromkeys(names, 1), bodies={"constructor": ONE}),
               level=1)  # fmt: skip


def bases() -> Iterator[Base]:
    yield from schema_bases()
    yield from line_bases()

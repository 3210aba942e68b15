"""Entries that violate the schema of their kind: a missing member, an extra one, a bad value."""

from collections.abc import Iterator, Mapping

from fake_ledger.files import ZEROS, Record
from vector_generator.ledgers.bases import IMPORTED_FILE, ONE
from vector_generator.ledgers.case import Base, Case
from vector_generator.ledgers.edits import Edit, body, combine, facts, insert
from vector_generator.ledgers.row import Row, cases_of
from vector_generator.ledgers.runs import delivered

CUT = {"task": "b", "as": "x", "bytes": 4, "kept_bytes": 2}
EXCEEDED = {"task": "b", "attempt": 1, "amount": "output_tokens", "reserved": 0, "used": 1}

EXAMPLE_ENTRIES: Mapping[str, tuple[str, int, str]] = {
    "run.opened": ("notes", 0, "implementation"),
    "run.paused": ("gated", 2, "reason"),
    "run.resumed": ("gated", 4, "implementation"),
    "run.repaired": ("repaired", 2, "torn"),
    "run.sealed": ("notes", 3, "counts"),
    "wave.opened": ("in-waves", 1, "wave"),
    "route.decided": ("routed", 1, "by"),
    "task.expanded": ("expanded", 4, "instances"),
    "task.started": ("one-task", 1, "fingerprint"),
    "task.finished": ("one-task", 2, "measured"),
    "task.lost": ("resumed", 3, "attempt"),
    "task.reused": ("reused", 1, "seq"),
    "task.ended": ("one-task", 3, "state"),
    "edge.delivered": ("delivered", 4, "as"),
    "context.cut": ("context-cut-and-budget-exceeded", 5, "kept_bytes"),
    "gate.opened": ("gated", 1, "task"),
    "gate.decided": ("gated", 3, "authenticated"),
    "verdict.asked": ("checked", 4, "reserved"),
    "verdict.given": ("checked", 5, "verdict"),
    "verdict.lost": ("check-asked-again", 6, "check"),
    "escalation.raised": ("escalated", 4, "to"),
    "budget.stopped": ("stopped", 4, "needed"),
    "budget.exceeded": ("context-cut-and-budget-exceeded", 8, "used"),
    "answer.given": ("delivered", 8, "output"),
    "body.redacted": ("redacted-after-the-seal", 3, "digest"),
}
"""For each kind: the name of a valid ledger with such an entry, the entry's seq, and a required fact."""


def cut_and_exceeded() -> Record:
    """Like `delivered`: 5 context.cut, 6 started, 7 finished, 8 budget.exceeded, 9 ended, 10 answer, 11 sealed."""
    record = insert(5, "context.cut", CUT, [4]).apply(delivered())
    return insert(8, "budget.exceeded", EXCEEDED, [7]).apply(record)


def bases() -> Iterator[Base]:
    yield Base("context-cut-and-budget-exceeded",
               "a prompt contains part of a delivered value, and a call uses more than it reserved",
               ("LEDGER-SEMANTICS-003",), cut_and_exceeded())  # fmt: skip


def _row(name: str, title: str, base: str, seq: int, edit: Edit) -> Row:
    return Row(name, base, "ENTRY-001", "L105", seq, title, edit)


def rows_of_every_kind() -> Iterator[Row]:
    for kind, (base, seq, fact) in EXAMPLE_ENTRIES.items():
        kind_name = kind.replace(".", "-")
        yield _row(f"{kind_name}-without-a-fact", f"an entry of the kind {kind} does not have `{fact}`", base, seq,
                   facts(seq, **{fact: None}))  # fmt: skip
        yield _row(f"{kind_name}-with-an-extra-fact", f"an entry of the kind {kind} has an extra fact",
                   base, seq, facts(seq, note=1))  # fmt: skip
        yield _row(f"{kind_name}-with-an-extra-body", f"an entry of the kind {kind} has an extra body",
                   base, seq, body(seq, "extra", ONE))  # fmt: skip


def _imported(**values: str) -> Edit:
    return facts(0, imported={"format": "otel", "files": [IMPORTED_FILE], "records": 1, "check": "ok", **values})


UNKNOWN_VALUES = (
    _row("imported-from-an-unknown-format", "an unknown format", "imported", 0, _imported(format="csv")),
    _row("imported-with-an-unknown-check", "an unknown check", "imported", 0, _imported(check="perhaps")),
    _row("routed-by-an-unknown-type", "an unknown value of `by` in route.decided", "routed", 1, facts(1, by="chance")),
    _row("finished-with-an-unknown-status", "an unknown status", "one-task", 2,
         combine(facts(2, status="done"), body(2, "output", None))),
    _row("reused-from-an-unknown-source", "an unknown source", "reused", 1, facts(1, source="chance")),
    _row("ended-in-an-unknown-state", "an unknown state", "failed", 3, facts(3, state="done")),
    _row("ended-for-an-unknown-reason", "an unknown reason", "failed", 3, facts(3, reason="because")),
    _row("decision-unknown", "an unknown decision", "gated", 3, facts(3, decision="perhaps")),
    _row("decided-by-an-unknown-type", "an unknown value of `by` in gate.decided", "gated", 3, facts(3, by="chance")),
    _row("check-by-an-unknown-type", "an unknown value of `by` in verdict.asked", "checked", 4, facts(4, by="person")),
    _row("verdict-by-an-unknown-type", "an unknown value of `by` in verdict.given", "checked", 5, facts(5,
        by="person")),
    _row("verdict-unknown", "an unknown verdict", "checked", 5, facts(5, verdict="perhaps")),
    _row("stopped-by-an-unknown-scope", "an unknown scope", "stopped", 4, facts(4, scope="team", name="b")),
    _row("stopped-at-an-unknown-amount", "an unknown amount", "stopped", 4, facts(4, amount="euros")),
    _row("exceeded-an-unknown-amount", "an amount that cannot be exceeded", "context-cut-and-budget-exceeded", 8,
         facts(8, amount="calls")),
)  # fmt: skip

NUMBERED_KINDS = (("task.finished", "finished"), ("task.lost", "lost"), ("verdict.asked", "asked"),
            ("verdict.given", "judged"), ("verdict.lost", "verdict-lost"), ("budget.exceeded", "exceeded"))  # fmt: skip

CONDITIONS = (
    _row("command-asked-with-an-agent", "a command check names an agent", "checked", 4, facts(4, agent="critic")),
    _row("command-asked-with-a-tier", "a command check names a tier", "checked", 4, facts(4, tier="cheap")),
    _row("command-asked-with-an-adapter", "a command check names an adapter", "checked", 4,
         facts(4, adapter="small")),
    _row("check-passed-with-an-error", "a check passes and has an error", "checked", 5, facts(5, error="internal")),
    _row("live-run-with-a-source", "a run that was not imported has a source", "notes", 0,
         body(0, "source", ONE)),
    _row("imported-with-a-plan", "an imported ledger names a wave plan", "imported", 0,
         combine(facts(0, wave_plan=ZEROS, bundle=ZEROS), body(0, "wave_plan", ONE))),
    _row("output-name-with-a-leading-digit", "an output name that begins with a digit", "delivered", 8,
         facts(8, output="1st")),
)  # fmt: skip


def rows() -> Iterator[Row]:
    yield from rows_of_every_kind()
    yield from UNKNOWN_VALUES
    for kind, name in NUMBERED_KINDS:
        base, seq, _ = EXAMPLE_ENTRIES[kind]
        yield _row(f"attempt-zero-{name}", f"attempts are numbered from 1 in {kind}", base, seq, facts(seq, attempt=0))
    yield from CONDITIONS


def cases(bases_by_name: Mapping[str, Base]) -> Iterator[Case]:
    return cases_of(rows(), bases_by_name)

"""Valid ledgers of small wave plans (level 4)."""

from collections.abc import Callable, Iterator

from fake_ledger.files import SALT, Body, Record, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import CAPABLE, CHEAP, data_edge, order_edge, retry, task, wave_plan
from vector_generator.ledgers import expansions
from vector_generator.ledgers.case import Base

TEXT, NOTES = Body(b"text"), Body(b"notes")
DEADLINE = "2026-11-15T09:01:00.000000Z"
RESERVED = {"input_tokens": 6, "output_tokens": 4, "micro_usd": 5, "output_bytes": 9}
SCHEMA = {"schema": "0" * 64}
COMMAND = {"command": [["check"]]}
CRITIC = {"agent": "critic"}
GATE = {"question": [], "on_deadline": "reject"}
TIMED_GATE = {"question": [], "deadline_ms": 60_000, "on_deadline": "approve"}


def one_task() -> Record:
    """0 run.opened, 1 started, 2 finished, 3 ended, 4 sealed."""
    builder = RunBuilder(wave_plan({"a": task(ladder=[CHEAP, CAPABLE])}))
    builder.complete()
    return builder.sealed()


def delivered() -> Record:
    """0 run.opened, 1-3 a, 4 delivered to b, 5 started, 6 finished, 7 ended, 8 answer.given, 9 sealed."""
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}
    builder = RunBuilder(wave_plan(tasks, outputs={"notes": {"task": "b"}}))
    builder.deliver("b", "x", TEXT, builder.complete("a", TEXT))
    builder.answer("notes", NOTES, builder.complete("b", NOTES))
    return builder.sealed()


def in_waves() -> Record:
    """0 run.opened, 1 wave 0, 2-4 a, 5 wave 1, 6-8 b, 9 sealed."""
    builder = RunBuilder(wave_plan({"a": task(), "b": task(needs=[order_edge("a")])}, dispatch="waves"))
    builder.add("wave.opened", {"wave": 0})
    builder.complete()
    builder.add("wave.opened", {"wave": 1})
    builder.complete("b")
    return builder.sealed()


def in_order() -> Record:
    """0 run.opened, 1-3 a, 4-6 b (after a), 7-9 c (its condition reads a), 10 sealed."""
    when = [{"from": {"task": "a"}, "matches": "0" * 64}]
    plan = wave_plan({"a": task(), "b": task(needs=[order_edge("a")]), "c": task(when=when)})
    builder = RunBuilder(plan)
    for unit in "abc":
        builder.complete(unit)
    return builder.sealed()


def retried() -> Record:
    """0 run.opened, 1 started, 2 finished (error), 3 started, 4 finished, 5 ended, 6 sealed."""
    builder = RunBuilder(wave_plan({"a": task()}))
    builder.start()
    builder.finish(status="error")
    builder.start(attempt=2)
    builder.finish(attempt=2)
    builder.end()
    return builder.sealed()


def escalated() -> Record:
    """0 run.opened, 1 started, 2 finished, 3 verdict (fail), 4 escalation, 5-6 attempt 2, 7 verdict, 8 ended, 9 sealed.

    The policy allows one attempt at each step.
    """
    plan = wave_plan({"a": task(ladder=[CHEAP, CAPABLE], accept=[SCHEMA])}, retry=retry(1))
    builder = RunBuilder(plan)
    builder.start()
    builder.finish()
    builder.judge(0, "schema", "fail")
    builder.escalate()
    builder.start(attempt=2, **CAPABLE)
    builder.finish(attempt=2)
    builder.judge(0, "schema", attempt=2)
    builder.end()
    return builder.sealed()


def checked() -> Record:
    """0 run.opened, 1 started, 2 finished, 3 schema, 4-5 command, 6-7 agent, 8 ended, 9-11 z, 12 sealed."""
    builder = RunBuilder(wave_plan({"a": task(accept=[SCHEMA, COMMAND, CRITIC]), "z": task()}, max_parallel=1))
    builder.start()
    builder.finish()
    builder.judge(0, "schema")
    builder.ask(1)
    builder.judge(1)
    builder.ask(2, "agent")
    builder.judge(2, "agent")
    builder.end()
    builder.complete("z")
    return builder.sealed()


def check_asked_again() -> Record:
    """0 run.opened, 1 started, 2 finished, 3-4 asked (none), 5-6 asked (lost), 7-8 asked (pass), 9 ended, 10 sealed."""
    builder = RunBuilder(wave_plan({"a": task(accept=[COMMAND], budget={"output_bytes": 18, "calls": 1})}))
    builder.start()
    builder.finish()
    builder.ask(0, reserved=RESERVED)
    builder.judge(0, verdict="none")
    builder.ask(0)
    builder.lose_verdict(0)
    builder.ask(0, reserved=RESERVED)
    builder.judge(0)
    builder.end()
    return builder.sealed()


def gated() -> Record:
    """0 run.opened, 1 gate.opened, 2 paused, 3 decided, 4 resumed, 5 started, 6 finished, 7 ended, 8 sealed."""
    builder = RunBuilder(wave_plan({"a": task(gate=GATE)}))
    builder.open_gate()
    builder.add("run.paused", {"reason": "gate"})
    builder.decide(actor="person:ada")
    builder.add("run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})
    builder.complete()
    return builder.sealed()


def gated_with_a_deadline() -> Record:
    """0 run.opened, 1 gate.opened, 2 decided by the deadline, 3-5 a, 6 sealed."""
    builder = RunBuilder(wave_plan({"a": task(gate=TIMED_GATE)}))
    builder.open_gate(deadline=DEADLINE)
    builder.decide(by="deadline", at=DEADLINE)
    builder.complete()
    return _not_before(builder.sealed(), DEADLINE)


def _not_before(record: Record, at: str) -> Record:
    """The record with the time `at` for all entries from the first one with that time."""
    first = next(seq for seq, entry in enumerate(record.entries) if entry["at"] == at)
    later = [{**entry, "at": at} for entry in record.entries[first:]]
    return Record((*record.entries[:first], *later), record.bodies, record.redacted)


def routed() -> Record:
    """0 run.opened, 1 routed, 2 started, 3 finished (error), 4 escalation, 5 started, 6 finished, 7 ended, 8 sealed."""
    builder = RunBuilder(wave_plan({"a": {"lane": "auto", "escalate": ["capable", "frontier"]}}))
    builder.add("route.decided", {"task": "a", "agent": "worker", "by": "only"})
    builder.start()
    builder.finish(status="error")
    builder.escalate()
    builder.start(attempt=2, **CAPABLE)
    builder.finish(attempt=2)
    builder.end()
    return builder.sealed()


def reused() -> Record:
    """0 run.opened, 1 a reused, 2 a ended, 3 b reused (it has a lane, and is not routed), 4 b ended, 5 sealed."""
    builder = RunBuilder(wave_plan({"a": task(), "b": {"lane": "auto"}}))
    for unit in "ab":
        builder.reuse(unit)
        builder.end(unit)
    return builder.sealed()


def tolerated() -> Record:
    """0 run.opened, 1 started, 2 finished (error), 3 ended tolerated, 4 sealed."""
    builder = RunBuilder(wave_plan({"a": task(allow_failure=True)}))
    builder.start()
    builder.finish(status="error")
    builder.end(state="tolerated")
    return builder.sealed()


def failed() -> Record:
    """0 run.opened, 1-2 a (error), 3 a failed, 4 b skipped, 5 each skipped, 6 sealed failed."""
    foreach = {"from": {"task": "a"}, "as": "item", "max": 2}
    tasks = {
        "a": task(ladder=[CHEAP, CAPABLE]),
        "b": task(needs=[data_edge({"task": "a"}, "x")]),
        "each": task(foreach=foreach),
    }
    builder = RunBuilder(wave_plan(tasks, outputs={"o": {"task": "a"}}))
    builder.start()
    builder.finish(status="error")
    builder.end(state="failed")
    builder.end("b", "skipped", "upstream")
    builder.end("each", "skipped", "upstream")
    return builder.sealed("failed")


def skipped() -> Record:
    """0 run.opened, 1-3 a, 4 b skipped (its condition is not met), 5 sealed."""
    when = [{"from": {"task": "a"}, "matches": "0" * 64}]
    builder = RunBuilder(wave_plan({"a": task(), "b": task(when=when)}))
    builder.complete()
    builder.end("b", "skipped", "condition")
    return builder.sealed()


def stopped() -> Record:
    """0 run.opened, 1-3 a, 4 budget.stopped, 5 b stopped, 6 sealed stopped."""
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")], gate=GATE)}
    builder = RunBuilder(wave_plan(tasks, budget={"calls": 1}))
    builder.complete("a", TEXT)
    builder.add("budget.stopped", {"scope": "run", "amount": "calls", "limit": 1, "used": 1, "needed": 1})
    builder.end("b", "stopped", "budget")
    return builder.sealed("stopped")


def parallel() -> Record:
    """0 run.opened, 1 a started, 2 b started, 3-4 finished, 5-6 ended, 7 c started, 8 finished, 9 ended, 10 sealed."""
    budget = {"calls": 3, "input_tokens": 12, "output_tokens": 8, "tokens": 20, "micro_usd": 10, "output_bytes": 18}
    tasks = {"a": task(), "b": task(budget={"tokens": 10}), "c": task()}
    builder = RunBuilder(wave_plan(tasks, [["a", "b", "c"]], limits={"calls": 3}, budget=budget))
    builder.start("a", reserved=RESERVED)
    builder.start("b", reserved=RESERVED)
    builder.finish("a", input_tokens=4, cached_input_tokens=2, output_tokens=1, micro_usd=2, wall_ms=90)
    builder.finish("b", input_tokens=1, output_tokens=1, micro_usd=1, output_bytes=4, wall_ms=10)
    builder.end("a")
    builder.end("b")
    builder.start("c", reserved=RESERVED)
    builder.finish("c", input_tokens=2)
    builder.end("c")
    return builder.sealed()


def resumed() -> Record:
    """0 run.opened, 1 a started, 2 resumed, 3 lost, 4 started, 5 finished (cancelled), 6-8 a, 9-11 b, 12 sealed.

    The policy allows one attempt; lost and cancelled attempts do not count, but keep their reservations.
    """
    builder = RunBuilder(wave_plan({"a": task(), "b": task()}, retry=retry(1), budget={"tokens": 20}))
    builder.start(reserved=RESERVED)
    builder.add("run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})
    builder.lose()
    builder.start(attempt=2, reserved=RESERVED)
    builder.finish(attempt=2, status="cancelled")
    builder.start(attempt=3)
    builder.finish(attempt=3)
    builder.end()
    builder.complete("b")
    return builder.sealed()


def with_values() -> Record:
    """0 run.opened, 1-3 a, 4-6 b, 7 delivered v to c, 8 delivered w to c, 9 delivered p to c, 10-12 c, 13 sealed."""
    computed = {
        "list": [
            {"task": "a", "select": "/x/1"},
            {"object": {"text": {"task": "b"}, "none": {"list": []}}},
            {"task": "a", "select": "/a~1b/~0"},
        ]
    }
    needs = [
        data_edge(computed, "v"),
        data_edge({"task": "b"}, "w"),
        data_edge({"list": [{"task": "a"}], "select": "/0/x/0"}, "p"),
    ]
    builder = RunBuilder(wave_plan({"a": task(), "b": task(), "c": task(needs=needs)}))
    first = builder.complete("a", json_body({"x": [1.5, {"y": None}], "a/b": {"~": True}}))
    last = builder.complete("b", Body(b"plain", salt=SALT))
    builder.deliver("c", "v", json_body([{"y": None}, {"none": [], "text": "plain"}, True]), last)
    builder.deliver("c", "w", Body(b"plain"), last)
    builder.deliver("c", "p", json_body(1.5), first)
    builder.complete("c")
    return builder.sealed()


def redacted_value() -> Record:
    """0 run.opened, 1-3 a, 4 delivered to b, 5-7 b, 8 answer.given, 9 sealed, 10-11 redacted, 12 sealed.

    The delivered value is wrong, but the output that it comes from is redacted, so no verifier can compare them.
    """
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a", "select": "/x"}, "x")])}
    builder = RunBuilder(wave_plan(tasks, outputs={"notes": {"task": "b"}}))
    output = json_body({"x": 1})
    builder.deliver("b", "x", json_body(2), builder.complete("a", output))
    builder.answer("notes", NOTES, builder.complete("b", NOTES))
    builder.sealed()
    builder.redact(output, "output", 2)
    builder.redact(NOTES, "value", 8)
    return builder.sealed()


def answered() -> Record:
    """0 run.opened, 1-3 a, 4 its answer (JSON), 5-7 b, 8 its answer (text), 9-11 c, 12 its answer (PNG), 13 sealed."""
    outputs = {"json": {"task": "a"}, "text": {"task": "b"}, "image": {"task": "c"}}
    builder = RunBuilder(wave_plan({"a": task(), "b": task(), "c": task()}, [["a", "b", "c"]], outputs=outputs))
    bodies = {"json": json_body({"b": [], "a": 1}), "text": Body(b"text"), "image": Body(b"\x89PNG", "image/png")}
    for unit, (name, body) in zip("abc", bodies.items(), strict=True):
        builder.answer(name, body, builder.complete(unit, body))
    return builder.sealed()


def _ending_at_once(state: str, reason: str) -> Callable[[], Record]:
    """0 run.opened, 1 ended, 2 sealed."""

    def build() -> Record:
        builder = RunBuilder(wave_plan({"a": {"lane": "auto"}}))
        builder.end(state=state, reason=reason)
        return builder.sealed(state)

    return build


RUNS: dict[str, tuple[Callable[[], Record], str, str]] = {
    "one-task": (one_task, "a task starts, finishes and ends", "002 010 011 014 017"),
    "delivered": (delivered, "a task's output is delivered to another task, whose output is an answer",
                    "002 005 007 010 016 017 018"),
    "in-waves": (in_waves, "with dispatch by waves, each wave is opened after the previous one ended",
                 "004 005"),
    "in-order": (in_order, "a task that follows another, and a task whose condition reads its output", "005"),
    "retried": (retried, "an attempt ends with an error, and the next one succeeds", "010 011"),
    "escalated": (escalated, "a check fails, and the next tier succeeds; attempts are counted per step",
                  "010 012 013"),
    "checked": (checked, "a schema, a command and an agent check a result, in order", "012"),
    "check-asked-again": (check_asked_again, "a check without a verdict and a lost check are asked again", "012 015"),
    "gated": (gated, "a gate is opened, the run is paused, and it resumes after a person approves", "003 009 010"),
    "gated-with-a-deadline": (gated_with_a_deadline, "at a gate's deadline, the plan's `on_deadline` decides", "009"),
    "expanded": (expansions.all_passed, "a task with a foreach is expanded, and each instance receives its item",
                 "006 007 014 018"),
    "expanded-and-one-tolerated": (expansions.one_tolerated,
                                   "one of two instances is tolerated; the task passes with the output of the other",
                                   "014 018"),
    "expanded-and-all-tolerated": (expansions.all_tolerated,
                                   "all instances are tolerated, so the task is tolerated and has no answer",
                                   "014 017"),
    "expanded-and-tolerated-without-attempts": (expansions.tolerated_before_an_attempt,
                                       "all instances are tolerated without an attempt, so the task is tolerated",
                                       "014"),
    "expanded-to-no-instances": (expansions.no_items,
                            "a task with a foreach and no items passes, and its answer is an empty list",
                            "006 014 018"),
    "expanded-from-text": (expansions.items_from_text,
                           "the items of a foreach are a list in RFC 8785 form, whatever the body's type", "006"),
    "routed": (routed, "a task with a lane is routed and escalates to a tier for which its agent has an adapter",
               "008 013"),
    "reused": (reused, "results of another run are reused instead of running attempts", "011 014"),
    "tolerated": (tolerated, "a task with allow_failure fails, and the run passes", "014 017"),
    "failed": (failed, "a task fails, and the tasks that take its output are skipped", "014 017"),
    "skipped": (skipped, "a condition is not met, so the task is skipped", "014 017"),
    "stopped": (stopped, "a budget stops the run", "015 017"),
    "refused": (_ending_at_once("refused", "policy"), "a task is refused, so the run is refused", "014 017"),
    "cancelled": (_ending_at_once("cancelled", "interrupted"), "a task is cancelled, so the run is cancelled",
    "014 017"),
    "parallel": (parallel,
                     "two parallel calls just fit their budgets, and their usage leaves room for a third",
                     "010 015 017"),
    "resumed": (resumed, "the call of a killed process is lost and charged its reservation",
                     "003 010 011 015 017"),
    "with-values": (with_values, "values computed from outputs: parts, lists, objects, text, a salted body", "007 018"),
    "redacted-value": (redacted_value,
                       "the source of a value is redacted, so the value cannot be compared, which is not a finding",
                       "018"),
    "answered": (answered, "answers of three types, and their copies", "016 017"),
}  # fmt: skip

OTHER_REQUIREMENTS = {
    "one-task": ("LEDGER-KIND-001", "LEDGER-KIND-002", "LEDGER-SEMANTICS-001", "LEDGER-VERIFY-001"),
    "expanded": ("LEDGER-KIND-003",),
    "with-values": ("LEDGER-KIND-004",),
    "answered": ("LEDGER-DIR-002", "LEDGER-KIND-004"),
    "redacted-value": ("LEDGER-REDACT-002", "LEDGER-DIR-002"),
}


def bases() -> Iterator[Base]:
    for name, (build, title, numbers) in RUNS.items():
        ids = tuple(f"LEDGER-SEMANTICS-{number}" for number in numbers.split())
        yield Base(name, title, (*ids, *OTHER_REQUIREMENTS.get(name, ())), build())

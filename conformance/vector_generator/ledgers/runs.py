"""Valid ledgers of small wave plans (level 4)."""

from collections.abc import Callable, Iterator

from vector_generator.ledgers import expansions
from vector_generator.ledgers.case import Base
from vector_generator.ledgers.story import (
    CAPABLE,
    CHEAP,
    Story,
    data_edge,
    order_edge,
    retry,
    task,
    wave_plan,
)
from vector_generator.ledgers.writer import SALT, Body, Telling, as_json

TEXT, NOTES = Body(b"text"), Body(b"notes")
DEADLINE = "2026-11-15T09:01:00.000000Z"
RESERVED = {"input_tokens": 6, "output_tokens": 4, "micro_usd": 5, "output_bytes": 9}
SCHEMA = {"schema": "0" * 64}
COMMAND = {"command": [["check"]]}
CRITIC = {"agent": "critic"}
GATE = {"question": [], "on_deadline": "reject"}
TIMED_GATE = {"question": [], "deadline_ms": 60_000, "on_deadline": "approve"}


def one_task() -> Telling:
    """0 run.opened, 1 started, 2 finished, 3 ended, 4 sealed."""
    story = Story(wave_plan({"a": task(ladder=[CHEAP, CAPABLE])}))
    story.run()
    return story.seal()


def handed_over() -> Telling:
    """0 run.opened, 1-3 a, 4 delivered to b, 5 started, 6 finished, 7 ended, 8 answer.given, 9 sealed."""
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}
    story = Story(wave_plan(tasks, outputs={"notes": {"task": "b"}}))
    story.deliver("b", "x", TEXT, story.run("a", TEXT))
    story.answer("notes", NOTES, story.run("b", NOTES))
    return story.seal()


def in_waves() -> Telling:
    """0 run.opened, 1 wave 0, 2-4 a, 5 wave 1, 6-8 b, 9 sealed."""
    story = Story(wave_plan({"a": task(), "b": task(needs=[order_edge("a")])}, dispatch="waves"))
    story.add("wave.opened", {"wave": 0})
    story.run()
    story.add("wave.opened", {"wave": 1})
    story.run("b")
    return story.seal()


def in_order() -> Telling:
    """0 run.opened, 1-3 a, 4-6 b (after a), 7-9 c (looks at a), 10 sealed."""
    when = [{"from": {"task": "a"}, "matches": "0" * 64}]
    plan = wave_plan({"a": task(), "b": task(needs=[order_edge("a")]), "c": task(when=when)})
    story = Story(plan)
    for unit in "abc":
        story.run(unit)
    return story.seal()


def tried_again() -> Telling:
    """0 run.opened, 1 started, 2 finished (error), 3 started, 4 finished, 5 ended, 6 sealed."""
    story = Story(wave_plan({"a": task()}))
    story.start()
    story.finish(status="error")
    story.start(attempt=2)
    story.finish(attempt=2)
    story.end()
    return story.seal()


def escalated() -> Telling:
    """0 run.opened, 1 started, 2 finished, 3 verdict (fail), 4 escalation, 5-6 attempt 2, 7 verdict, 8 ended, 9 sealed.

    The policy allows one attempt at each step.
    """
    plan = wave_plan({"a": task(ladder=[CHEAP, CAPABLE], accept=[SCHEMA])}, retry=retry(1))
    story = Story(plan)
    story.start()
    story.finish()
    story.judge(0, "schema", "fail")
    story.escalate()
    story.start(attempt=2, **CAPABLE)
    story.finish(attempt=2)
    story.judge(0, "schema", attempt=2)
    story.end()
    return story.seal()


def checked() -> Telling:
    """0 run.opened, 1 started, 2 finished, 3 schema, 4-5 command, 6-7 agent, 8 ended, 9-11 z, 12 sealed."""
    story = Story(wave_plan({"a": task(accept=[SCHEMA, COMMAND, CRITIC]), "z": task()}, max_parallel=1))
    story.start()
    story.finish()
    story.judge(0, "schema")
    story.ask(1)
    story.judge(1)
    story.ask(2, "agent")
    story.judge(2, "agent")
    story.end()
    story.run("z")
    return story.seal()


def asked_again() -> Telling:
    """0 run.opened, 1 started, 2 finished, 3-4 asked (none), 5-6 asked (lost), 7-8 asked (pass), 9 ended, 10 sealed."""
    story = Story(wave_plan({"a": task(accept=[COMMAND], budget={"output_bytes": 18, "calls": 1})}))
    story.start()
    story.finish()
    story.ask(0, reserved=RESERVED)
    story.judge(0, verdict="none")
    story.ask(0)
    story.lose_verdict(0)
    story.ask(0, reserved=RESERVED)
    story.judge(0)
    story.end()
    return story.seal()


def gated() -> Telling:
    """0 run.opened, 1 gate.opened, 2 paused, 3 decided, 4 resumed, 5 started, 6 finished, 7 ended, 8 sealed."""
    story = Story(wave_plan({"a": task(gate=GATE)}))
    story.open_gate()
    story.add("run.paused", {"reason": "gate"})
    story.decide(actor="person:ada")
    story.add("run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})
    story.run()
    return story.seal()


def gated_in_time() -> Telling:
    """0 run.opened, 1 gate.opened, 2 decided by the deadline, 3-5 a, 6 sealed."""
    story = Story(wave_plan({"a": task(gate=TIMED_GATE)}))
    story.open_gate(deadline=DEADLINE)
    story.decide(by="deadline", at=DEADLINE)
    story.run()
    return _not_before(story.seal(), DEADLINE)


def _not_before(telling: Telling, at: str) -> Telling:
    """Entries after a moment that was waited for are not earlier."""
    first = next(seq for seq, entry in enumerate(telling.entries) if entry["at"] == at)
    later = [{**entry, "at": at} for entry in telling.entries[first:]]
    return Telling((*telling.entries[:first], *later), telling.bodies, telling.redacted)


def routed() -> Telling:
    """0 run.opened, 1 routed, 2 started, 3 finished (error), 4 escalation, 5 started, 6 finished, 7 ended, 8 sealed."""
    story = Story(wave_plan({"a": {"lane": "auto", "escalate": ["capable", "frontier"]}}))
    story.add("route.decided", {"task": "a", "agent": "worker", "by": "only"})
    story.start()
    story.finish(status="error")
    story.escalate()
    story.start(attempt=2, **CAPABLE)
    story.finish(attempt=2)
    story.end()
    return story.seal()


def reused() -> Telling:
    """0 run.opened, 1 a reused, 2 a ended, 3 b reused (it has a lane, and is not routed), 4 b ended, 5 sealed."""
    story = Story(wave_plan({"a": task(), "b": {"lane": "auto"}}))
    for unit in "ab":
        story.reuse(unit)
        story.end(unit)
    return story.seal()


def tolerated() -> Telling:
    """0 run.opened, 1 started, 2 finished (error), 3 ended tolerated, 4 sealed."""
    story = Story(wave_plan({"a": task(allow_failure=True)}))
    story.start()
    story.finish(status="error")
    story.end(state="tolerated")
    return story.seal()


def failed() -> Telling:
    """0 run.opened, 1-2 a (error), 3 a failed, 4 b skipped, 5 each skipped, 6 sealed failed."""
    foreach = {"from": {"task": "a"}, "as": "item", "max": 2}
    tasks = {
        "a": task(ladder=[CHEAP, CAPABLE]),
        "b": task(needs=[data_edge({"task": "a"}, "x")]),
        "each": task(foreach=foreach),
    }
    story = Story(wave_plan(tasks, outputs={"o": {"task": "a"}}))
    story.start()
    story.finish(status="error")
    story.end(state="failed")
    story.end("b", "skipped", "upstream")
    story.end("each", "skipped", "upstream")
    return story.seal("failed")


def skipped() -> Telling:
    """0 run.opened, 1-3 a, 4 b skipped (its condition does not hold), 5 sealed."""
    when = [{"from": {"task": "a"}, "matches": "0" * 64}]
    story = Story(wave_plan({"a": task(), "b": task(when=when)}))
    story.run()
    story.end("b", "skipped", "condition")
    return story.seal()


def stopped() -> Telling:
    """0 run.opened, 1-3 a, 4 budget.stopped, 5 b stopped, 6 sealed stopped."""
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")], gate=GATE)}
    story = Story(wave_plan(tasks, budget={"calls": 1}))
    story.run("a", TEXT)
    story.add("budget.stopped", {"scope": "run", "amount": "calls", "limit": 1, "used": 1, "needed": 1})
    story.end("b", "stopped", "budget")
    return story.seal("stopped")


def side_by_side() -> Telling:
    """0 run.opened, 1 a started, 2 b started, 3-4 finished, 5-6 ended, 7 c started, 8 finished, 9 ended, 10 sealed."""
    budget = {"calls": 3, "input_tokens": 12, "output_tokens": 8, "tokens": 20, "micro_usd": 10, "output_bytes": 18}
    tasks = {"a": task(), "b": task(budget={"tokens": 10}), "c": task()}
    story = Story(wave_plan(tasks, [["a", "b", "c"]], limits={"calls": 3}, budget=budget))
    story.start("a", reserved=RESERVED)
    story.start("b", reserved=RESERVED)
    story.finish("a", input_tokens=4, cached_input_tokens=2, output_tokens=1, micro_usd=2, wall_ms=90)
    story.finish("b", input_tokens=1, output_tokens=1, micro_usd=1, output_bytes=4, wall_ms=10)
    story.end("a")
    story.end("b")
    story.start("c", reserved=RESERVED)
    story.finish("c", input_tokens=2)
    story.end("c")
    return story.seal()


def gone_on_with() -> Telling:
    """0 run.opened, 1 a started, 2 resumed, 3 lost, 4 started, 5 finished (cancelled), 6-8 a, 9-11 b, 12 sealed.

    The policy allows one attempt; one that is lost or cancelled does not count, but keeps what it has reserved.
    """
    story = Story(wave_plan({"a": task(), "b": task()}, retry=retry(1), budget={"tokens": 20}))
    story.start(reserved=RESERVED)
    story.add("run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})
    story.lose()
    story.start(attempt=2, reserved=RESERVED)
    story.finish(attempt=2, status="cancelled")
    story.start(attempt=3)
    story.finish(attempt=3)
    story.end()
    story.run("b")
    return story.seal()


def with_values() -> Telling:
    """0 run.opened, 1-3 a, 4-6 b, 7 delivered v to c, 8 delivered w to c, 9 delivered p to c, 10-12 c, 13 sealed."""
    made = {
        "list": [
            {"task": "a", "select": "/x/1"},
            {"object": {"text": {"task": "b"}, "none": {"list": []}}},
            {"task": "a", "select": "/a~1b/~0"},
        ]
    }
    needs = [
        data_edge(made, "v"),
        data_edge({"task": "b"}, "w"),
        data_edge({"list": [{"task": "a"}], "select": "/0/x/0"}, "p"),
    ]
    story = Story(wave_plan({"a": task(), "b": task(), "c": task(needs=needs)}))
    first = story.run("a", as_json({"x": [1.5, {"y": None}], "a/b": {"~": True}}))
    last = story.run("b", Body(b"plain", salt=SALT))
    story.deliver("c", "v", as_json([{"y": None}, {"none": [], "text": "plain"}, True]), last)
    story.deliver("c", "w", Body(b"plain"), last)
    story.deliver("c", "p", as_json(1.5), first)
    story.run("c")
    return story.seal()


def redacted_value() -> Telling:
    """0 run.opened, 1-3 a, 4 delivered to b, 5-7 b, 8 answer.given, 9 sealed, 10-11 redacted, 12 sealed."""
    tasks = {"a": task(), "b": task(needs=[data_edge({"task": "a", "select": "/x"}, "x")])}
    story = Story(wave_plan(tasks, outputs={"notes": {"task": "b"}}))
    output = as_json({"x": 1})
    story.deliver("b", "x", as_json(2), story.run("a", output))
    story.answer("notes", NOTES, story.run("b", NOTES))
    story.seal()
    story.redact(output.digest, "output", 2)
    story.redact(NOTES.digest, "value", 8)
    return story.seal()


def answered() -> Telling:
    """0 run.opened, 1-3 a, 4-6 answers, 7 sealed: as JSON, as text and as other bytes."""
    outputs = {"json": {"task": "a"}, "text": {"task": "b"}, "image": {"task": "c"}}
    story = Story(wave_plan({"a": task(), "b": task(), "c": task()}, [["a", "b", "c"]], outputs=outputs))
    bodies = {"json": as_json({"b": [], "a": 1}), "text": Body(b"text"), "image": Body(b"\x89PNG", "image/png")}
    for unit, (name, body) in zip("abc", bodies.items(), strict=True):
        story.answer(name, body, story.run(unit, body))
    return story.seal()


def _ended(state: str, reason: str) -> Callable[[], Telling]:
    """0 run.opened, 1 ended, 2 sealed."""

    def tell() -> Telling:
        story = Story(wave_plan({"a": {"lane": "auto"}}))
        story.end(state=state, reason=reason)
        return story.seal(state)

    return tell


RUNS: dict[str, tuple[Callable[[], Telling], str, str]] = {
    "one-task": (one_task, "a task is begun, finished and ended", "002 010 011 014 017"),
    "handed-over": (handed_over, "the output of a task is handed to another, whose output is an answer",
                    "002 005 007 010 016 017 018"),
    "in-waves": (in_waves, "a policy that dispatches by waves: each is opened when the one before has ended",
                 "004 005"),
    "in-order": (in_order, "a task that comes after another, and one whose condition looks at it", "005"),
    "tried-again": (tried_again, "an attempt ends with an error, and the next one does it", "010 011"),
    "escalated": (escalated, "a check fails, and the next tier does it; attempts are counted at each step",
                  "010 012 013"),
    "checked": (checked, "a result is checked by a schema, a command and an agent, in order", "012"),
    "asked-again": (asked_again, "a check that said nothing, and one that was lost, are asked again", "012 015"),
    "gated": (gated, "a person is asked, the run is paused, and goes on when the person has approved", "003 009 010"),
    "gated-in-time": (gated_in_time, "at its deadline a gate is decided as the plan says", "009"),
    "expanded": (expansions.all_passed, "a task with a foreach is expanded, and each instance is handed its item",
                 "006 007 014 018"),
    "expanded-and-one-tolerated": (expansions.one_tolerated,
                                   "one of two instances is tolerated: the task passes, and gives what the other gave",
                                   "014 018"),
    "expanded-and-all-tolerated": (expansions.all_tolerated,
                                   "all instances are tolerated, and so the task: no answer is made of it",
                                   "014 017"),
    "expanded-and-tolerated-at-once": (expansions.tolerated_before_an_attempt,
                                       "all instances are tolerated before an attempt, and so the task is, too",
                                       "014"),
    "expanded-to-nothing": (expansions.of_nothing,
                            "a task with a foreach has no items: it passes, and its answer is an empty list",
                            "006 014 018"),
    "expanded-from-text": (expansions.from_text,
                           "the items of a foreach are a list in RFC 8785 form, whatever type the body has", "006"),
    "routed": (routed, "a task with a lane is routed, and climbs to the tier that its agent has an adapter for",
               "008 013"),
    "reused": (reused, "results of another run stand in for attempts", "011 014"),
    "tolerated": (tolerated, "a task that may fail fails, and the run passes", "014 017"),
    "failed": (failed, "a task fails, and what takes its output is skipped", "014 017"),
    "skipped": (skipped, "a condition does not hold, and the task is skipped", "014 017"),
    "stopped": (stopped, "a budget stops the run", "015 017"),
    "refused": (_ended("refused", "policy"), "a task is refused, and so the run", "014 017"),
    "cancelled": (_ended("cancelled", "interrupted"), "a task is cancelled, and so the run", "014 017"),
    "side-by-side": (side_by_side,
                     "two calls that just fit their budgets are open at once; usage makes room for a third",
                     "010 015 017"),
    "gone-on-with": (gone_on_with, "a process was killed: its call is lost, and charged what it reserved",
                     "003 010 011 015 017"),
    "with-values": (with_values, "values are made of outputs: parts, lists, objects, text, a salted body", "007 018"),
    "redacted-value": (redacted_value,
                       "what a value was made of is redacted: nothing is settled, and that is no finding", "018"),
    "answered": (answered, "answers of three types, and their copies", "016 017"),
}  # fmt: skip

FURTHER = {
    "one-task": ("LEDGER-KIND-001", "LEDGER-KIND-002", "LEDGER-SEMANTICS-001", "LEDGER-VERIFY-001"),
    "expanded": ("LEDGER-KIND-003",),
    "with-values": ("LEDGER-KIND-004",),
    "answered": ("LEDGER-DIR-002", "LEDGER-KIND-004"),
    "redacted-value": ("LEDGER-REDACT-002", "LEDGER-DIR-002"),
}


def bases() -> Iterator[Base]:
    for name, (tell, title, numbers) in RUNS.items():
        ids = tuple(f"LEDGER-SEMANTICS-{number}" for number in numbers.split())
        yield Base(name, title, (*ids, *FURTHER.get(name, ())), tell())

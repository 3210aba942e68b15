"""Vectors of runs: gates, decisions and redactions."""

from typing import Any

from vector_generator.runs.case import Before, Case, Claim, Count, Fact, Form, Kinds, changed, fact, workflow

_HOUR = 3_600_000
_GATE = workflow(
    {
        "draft": {"agent": "writer", "instruction": "Draft it."},
        "publish": {
            "agent": "operator",
            "run": ["make", "publish", "${{ needs.draft }}"],
            "needs": ["draft"],
            "gate": {"question": "Publish ${{ needs.draft }}?", "deadline": "1h", "on_deadline": "approve"},
        },
    },
    [{"task": "draft", "output": "this", "latency": "1s"}, {"task": "publish", "output": "done", "latency": "1s"}],
)
_TIMELESS = changed(_GATE, "plan", "tasks", "publish", "gate", to={"question": "Publish ${{ needs.draft }}?"})
_DISPLAYED = (
    b'{"agent":"operator","argv":["make","publish","this"],"question":"Publish this?","stdin":"this","task":"publish"}'
)
_OPENED = Fact("gate.opened", {"task": "publish"}, 1000, (4, 6), bodies={"displayed": _DISPLAYED})
_MODEL = workflow(
    {"draft": {"agent": "writer", "instruction": "Draft it.", "gate": {"question": "As it is?"}, "sensitive": True}},
    [{"contains": "Edited", "output": "edited"}, {"output": "as it was"}],
)
_APPROVE: Form = {"action": "decide", "task": "publish", "decision": "approved", "by": "ann", "reason": "read it"}
_REJECT: Form = {**_APPROVE, "decision": "rejected"}
_EDIT: Form = {"action": "decide", "task": "draft", "decision": "approved", "by": "ann", "edited": "Edited ${{ x }}."}
_PAUSED = fact("run.paused", reason="gate")
_TWO = workflow(
    {
        "late": {
            "agent": "operator", "run": ["make", "late"],
            "gate": {"question": "Late?", "deadline": "2h", "on_deadline": "approve"},
        },
        "soon": {
            "agent": "operator", "run": ["make", "soon"],
            "gate": {"question": "Soon?", "deadline": "1h", "on_deadline": "approve"},
        },
        "work": {"agent": "operator", "run": ["make", "work"]},
    },
    [{"task": "work", "output": "w", "latency": "5s"}, {"output": "x", "latency": "1s"}],
)  # fmt: skip


def _decided(decision: str, by: str, at: int, **more: Any) -> Fact:
    told = {"task": "publish", "decision": decision, "by": by, "authenticated": False}
    return Fact("gate.decided", told, at, **more)


_PLAIN = workflow(
    {"log": {"agent": "operator", "run": ["make", "log"]}, "use": {"agent": "operator", "run": ["make", "use"]}},
    [{"task": "log", "output": "a name"}, {"output": "used", "latency": "2s"}],
    outputs={"log": "log", "use": "use"},
)
_REDACT: Form = {"action": "redact", "entry": 4, "body": "output", "by": "ann", "reason": "a name stands in it"}
_ONE_FAILS = changed(_PLAIN, "script", "answers", 1, to={"error": {"kind": "exit_status"}, "latency": "2s"})
_REDACTED: tuple[Claim, ...] = (
    Fact("run.sealed", {}, 2000),
    Fact("body.redacted", {"body": "output"}, 2000, (4,), "person:ann", {"reason": "a name stands in it"}),
    Fact("run.sealed", {}, 2000),
)

CASES: tuple[Case, ...] = (
    Case(
        "gate-approved-by-its-deadline",
        "Nobody decides: the run is paused, continues at the deadline, and the deadline approves",
        ("RUN-GATE-001", "RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005", "RUN-ORDER-004", "RUN-ORDER-005"),
        _GATE,
        (
            Fact("edge.delivered", {"task": "publish"}, 1000),
            _OPENED,
            fact("run.paused", 1000, reason="gate"),
            fact("run.resumed", 1000 + _HOUR),
            _decided("approved", "deadline", 1000 + _HOUR, causes=(7,), actor="runner"),
            Fact("task.started", {"task": "publish"}, 1000 + _HOUR, (6, 10)),
            fact("task.ended", 2000 + _HOUR, task="publish", state="passed"),
        ),
    ),
    Case(
        "gate-rejected-by-its-deadline",
        "Nobody decides, and the deadline rejects: the task is refused",
        ("RUN-GATE-001", "RUN-GATE-002", "RUN-VIRTUAL-005", "RUN-ORDER-005", "RUN-STATE-001"),
        changed(_GATE, "plan", "tasks", "publish", "gate", "on_deadline", to="reject"),
        (
            _OPENED,
            _decided("rejected", "deadline", 1000 + _HOUR),
            Fact("task.ended", {"task": "publish", "state": "refused", "reason": "deadline"}, 1000 + _HOUR, (4, 10)),
        ),
        "refused",
        of="gate-approved-by-its-deadline",
        change="the deadline rejects",
    ),
    Case(
        "gate-without-a-deadline",
        "An undecided gate without a deadline leaves the run paused",
        ("RUN-GATE-001", "RUN-GATE-003", "RUN-VIRTUAL-005", "RUN-ORDER-004"),
        _TIMELESS,
        (_OPENED, fact("run.paused", 1000, reason="gate"), Count(0, "run.resumed"), Count(1, "run.paused")),
        "paused",
        of="gate-approved-by-its-deadline",
        change="the gate has no deadline",
    ),
    Case(
        "gates-with-two-deadlines",
        "The run is paused when nothing else is in progress, and continues at each deadline",
        ("RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005"),
        _TWO,
        (
            fact("gate.opened", 0, task="late", deadline="2000-01-01T02:00:00.000000Z"),
            fact("gate.opened", 0, task="soon", deadline="2000-01-01T01:00:00.000000Z"),
            fact("run.paused", 5000, reason="gate"),
            fact("run.resumed", _HOUR),
            fact("gate.decided", _HOUR, task="soon", decision="approved"),
            fact("run.paused", _HOUR + 1000, reason="gate"),
            fact("run.resumed", 2 * _HOUR),
            fact("gate.decided", 2 * _HOUR, task="late"),
            fact("run.sealed", 2 * _HOUR + 1000, status="passed"),
        ),
    ),
    Case(
        "gates-with-one-deadline",
        "A gate without a deadline stays open after the deadline of another gate",
        ("RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005"),
        changed(_TWO, "plan", "tasks", "late", "gate", to={"question": "Late?"}),
        (
            fact("gate.decided", _HOUR, task="soon", decision="approved"),
            fact("run.paused", _HOUR + 1000, reason="gate"),
            Count(2, "run.paused"),
        ),
        "paused",
        of="gates-with-two-deadlines",
        change="one of the gates has no deadline",
    ),
    Case(
        "gate-deadline-during-a-call",
        "A deadline that is reached while a call is open is a separate event: the run is not paused",
        ("RUN-GATE-002", "RUN-VIRTUAL-004", "RUN-ORDER-002"),
        changed(
            changed(_TWO, "script", "answers", 0, "latency", to="5m"),
            "plan",
            "tasks",
            "soon",
            "gate",
            "deadline",
            to="1m",
        ),
        (
            fact("gate.decided", 60_000, task="soon"),
            fact("task.started", 60_000, task="soon"),
            fact("task.finished", 300_000, task="work"),
            Count(1, "run.paused"),
        ),
    ),
    Case(
        "decide",
        "A person's decision is recorded at the time of the last entry and bound to the displayed body",
        ("RUN-VIRTUAL-007", "RUN-ORDER-005"),
        _TIMELESS,
        (
            fact("run.paused", 1000),
            _decided("approved", "person", 1000, causes=(7,), actor="person:ann", bodies={"reason": "read it"}),
        ),
        "paused",
        request=_APPROVE,
        before=Before(),
    ),
    Case(
        "decided-and-resumed",
        "After a person approved, the run is resumed",
        ("RUN-GATE-002", "RUN-RESUME-001", "RUN-RESUME-002", "RUN-RESUME-003", "RUN-VIRTUAL-007"),
        _TIMELESS,
        (
            _decided("approved", "person", 1000, actor="person:ann"),
            fact("run.resumed", 1000, implementation={"name": "deterministic", "version": "1"}),
            Fact("task.started", {"task": "publish"}, 1000, (6, 9)),
            fact("run.sealed", 2000, status="passed"),
        ),
        request={"action": "resume"},
        before=Before(then=(_APPROVE,)),
    ),
    Case(
        "rejected-and-resumed",
        "A person rejected: the task is refused",
        ("RUN-GATE-002", "RUN-RESUME-002", "RUN-STATE-001", "RUN-VIRTUAL-007"),
        _TIMELESS,
        (
            _decided("rejected", "person", 1000, bodies={"reason": "read it"}),
            Fact("task.ended", {"task": "publish", "state": "refused", "reason": "rejected"}, 1000, (4, 9)),
            fact("run.sealed", 1000, status="refused"),
        ),
        "refused",
        of="decided-and-resumed",
        change="the person rejects",
        request={"action": "resume"},
        before=Before(then=(_REJECT,)),
    ),
    Case(
        "decided-before-the-deadline",
        "A person decides before the deadline: the run continues without waiting for it",
        ("RUN-GATE-002", "RUN-VIRTUAL-007", "RUN-RESUME-002"),
        _GATE,
        (_decided("approved", "person", 1000), fact("run.resumed", 1000), fact("run.sealed", 2000, status="passed")),
        request={"action": "resume"},
        before=Before(until=_PAUSED, then=(_APPROVE,)),
    ),
    Case(
        "undecided-and-resumed",
        "Resuming a run with an undecided gate changes nothing",
        ("RUN-RESUME-003", "RUN-VIRTUAL-007"),
        _TIMELESS,
        (
            Kinds(
                (
                    "run.opened",
                    "wave.opened",
                    "task.started draft",
                    "task.finished draft",
                    "task.ended draft",
                    "wave.opened",
                    "edge.delivered publish",
                    "gate.opened publish",
                    "run.paused",
                )
            ),
        ),
        "paused",
        of="decided-and-resumed",
        change="nobody has decided",
        request={"action": "resume"},
        before=Before(),
    ),
    Case(
        "deadline-and-resumed",
        "A run paused at a gate with a deadline is resumed and continues at the deadline",
        ("RUN-VIRTUAL-005", "RUN-VIRTUAL-007", "RUN-RESUME-002"),
        _GATE,
        (
            fact("run.paused", 1000),
            fact("run.resumed", 1000 + _HOUR),
            _decided("approved", "deadline", 1000 + _HOUR),
            Count(1, "run.paused"),
        ),
        request={"action": "resume"},
        before=Before(until=_PAUSED),
    ),
    Case(
        "edited-and-resumed",
        "A person's edit replaces the instruction, as text without references",
        ("RUN-GATE-004", "RUN-GATE-001", "RUN-HAND-003", "RUN-VIRTUAL-002", "RUN-VIRTUAL-007"),
        _MODEL,
        (
            Fact(
                "gate.opened", {"task": "draft"}, 0, salted=("displayed",), bodies={"displayed": {"text": "Draft it."}}
            ),
            Fact(
                "gate.decided",
                {"task": "draft"},
                0,
                salts={"edited": "resumed/4/0"},
                bodies={"edited": "Edited ${{ x }}."},
            ),
            Fact("task.started", {}, bodies={"prompt": {"text": "Edited ${{ x }}."}}, salts={"prompt": "resumed/6/0"}),
            Fact("task.finished", {}, bodies={"output": "edited"}, salts={"output": "resumed/7/1"}),
        ),
        request={"action": "resume"},
        before=Before(then=(_EDIT,)),
    ),
    Case(
        "edited-and-rejected",
        "An edited instruction has no effect if the task is rejected",
        ("RUN-GATE-004", "RUN-GATE-002"),
        _MODEL,
        (fact("task.ended", task="draft", state="refused", reason="rejected"), Count(0, "task.started")),
        "refused",
        of="edited-and-resumed",
        change="the person rejects",
        request={"action": "resume"},
        before=Before(then=({**_EDIT, "decision": "rejected"},)),
    ),
    Case(
        "decide-without-an-open-gate",
        "A decision for a task without an open gate is refused",
        ("RUN-GATE-002",),
        _TIMELESS,
        (),
        None,
        of="decide",
        change="the decision is for a task without a gate",
        request={**_APPROVE, "task": "draft"},
        before=Before(),
    ),
    Case(
        "decide-twice",
        "A gate can be decided only once",
        ("RUN-GATE-002", "RUN-VIRTUAL-007"),
        _TIMELESS,
        (),
        None,
        of="decide",
        change="the gate is decided already",
        request=_APPROVE,
        before=Before(then=(_APPROVE,)),
    ),
    Case(
        "decide-with-an-edit-for-a-program",
        "A task that runs a program has no instruction to edit",
        ("RUN-GATE-004",),
        _TIMELESS,
        (),
        None,
        of="decide",
        change="the decision comes with an instruction",
        request={**_APPROVE, "edited": "Do it."},
        before=Before(),
    ),
    Case(
        "redact",
        "A body is redacted in a sealed run: its bytes and its copy are removed, and the run is sealed again",
        ("RUN-VIRTUAL-007", "RUN-ORDER-005"),
        _PLAIN,
        _REDACTED,
        request=_REDACT,
        before=Before(),
    ),
    Case(
        "redact-in-a-failed-run",
        "A failed run stays failed",
        ("RUN-VIRTUAL-007",),
        _ONE_FAILS,
        _REDACTED,
        "failed",
        of="redact",
        change="its run has failed",
        request=_REDACT,
        before=Before(),
    ),
    Case(
        "redact-an-unknown-body",
        "A body that the entry does not have cannot be redacted",
        ("RUN-VIRTUAL-007",),
        _PLAIN,
        (),
        None,
        of="redact",
        change="the entry has no body of that name",
        request={**_REDACT, "body": "reply"},
        before=Before(),
    ),
    Case(
        "redact-twice",
        "A redacted body cannot be redacted again",
        ("RUN-VIRTUAL-007",),
        _PLAIN,
        (),
        None,
        of="redact",
        change="the request is repeated",
        request=_REDACT,
        before=Before(then=(_REDACT,)),
    ),
)

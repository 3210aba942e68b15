"""Run vectors: gates, decisions and redactions."""

from typing import Any

from vector_generator.runs.case import (
    Case,
    Claim,
    Count,
    EarlierRun,
    EntryClaim,
    Kinds,
    ManifestPart,
    entry,
    replace,
    workflow,
)

_HOUR = 3_600_000
_GATE_WITH_DEADLINE = workflow(
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
_WITHOUT_DEADLINE = replace(
    _GATE_WITH_DEADLINE, "plan", "tasks", "publish", "gate", to={"question": "Publish ${{ needs.draft }}?"}
)
_DISPLAYED = (
    b'{"agent":"operator","argv":["make","publish","this"],"question":"Publish this?","stdin":"this","task":"publish"}'
)
_OPENED = EntryClaim("gate.opened", {"task": "publish"}, 1000, (4, 6), bodies={"displayed": _DISPLAYED})
_INSTRUCTION_GATE = workflow(
    {"draft": {"agent": "writer", "instruction": "Draft it.", "gate": {"question": "As it is?"}, "sensitive": True}},
    [{"contains": "Edited", "output": "edited"}, {"output": "as it was"}],
)
_APPROVE: ManifestPart = {
    "action": "decide",
    "task": "publish",
    "decision": "approved",
    "by": "ann",
    "reason": "read it",
}
_REJECT: ManifestPart = {**_APPROVE, "decision": "rejected"}
_EDIT: ManifestPart = {
    "action": "decide",
    "task": "draft",
    "decision": "approved",
    "by": "ann",
    "edited": "Edited ${{ x }}.",
}
_PAUSED = entry("run.paused", reason="gate")
_TWO_GATES = workflow(
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


def _decision(decision: str, by: str, at: int, **more: Any) -> EntryClaim:
    data = {"task": "publish", "decision": decision, "by": by, "authenticated": False}
    return EntryClaim("gate.decided", data, at, **more)


_PLAIN = workflow(
    {"log": {"agent": "operator", "run": ["make", "log"]}, "use": {"agent": "operator", "run": ["make", "use"]}},
    [{"task": "log", "output": "a name"}, {"output": "used", "latency": "2s"}],
    outputs={"log": "log", "use": "use"},
)
_REDACT: ManifestPart = {"action": "redact", "entry": 4, "body": "output", "by": "ann", "reason": "it contains a name"}
_ONE_FAILS = replace(_PLAIN, "script", "answers", 1, to={"error": {"kind": "exit_status"}, "latency": "2s"})
_REDACTED: tuple[Claim, ...] = (
    EntryClaim("run.sealed", {}, 2000),
    EntryClaim("body.redacted", {"body": "output"}, 2000, (4,), "person:ann", {"reason": "it contains a name"}),
    EntryClaim("run.sealed", {}, 2000),
)

CASES: tuple[Case, ...] = (
    Case(
        "gate-approved-by-its-deadline",
        "Without a decision, the run pauses, continues at the deadline, and the deadline approves",
        ("RUN-GATE-001", "RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005", "RUN-ORDER-004", "RUN-ORDER-005"),
        _GATE_WITH_DEADLINE,
        (
            EntryClaim("edge.delivered", {"task": "publish"}, 1000),
            _OPENED,
            entry("run.paused", 1000, reason="gate"),
            entry("run.resumed", 1000 + _HOUR),
            _decision("approved", "deadline", 1000 + _HOUR, causes=(7,), actor="runner"),
            EntryClaim("task.started", {"task": "publish"}, 1000 + _HOUR, (6, 10)),
            entry("task.ended", 2000 + _HOUR, task="publish", state="passed"),
        ),
    ),
    Case(
        "gate-rejected-by-its-deadline",
        "Without a decision, the deadline rejects, and the task is refused",
        ("RUN-GATE-001", "RUN-GATE-002", "RUN-VIRTUAL-005", "RUN-ORDER-005", "RUN-STATE-001"),
        replace(_GATE_WITH_DEADLINE, "plan", "tasks", "publish", "gate", "on_deadline", to="reject"),
        (
            _OPENED,
            _decision("rejected", "deadline", 1000 + _HOUR),
            EntryClaim(
                "task.ended", {"task": "publish", "state": "refused", "reason": "deadline"}, 1000 + _HOUR, (4, 10)
            ),
        ),
        "refused",
        derived_from="gate-approved-by-its-deadline",
        change="the deadline rejects",
    ),
    Case(
        "gate-without-a-deadline",
        "An undecided gate without a deadline leaves the run paused",
        ("RUN-GATE-001", "RUN-GATE-003", "RUN-VIRTUAL-005", "RUN-ORDER-004"),
        _WITHOUT_DEADLINE,
        (_OPENED, entry("run.paused", 1000, reason="gate"), Count(0, "run.resumed"), Count(1, "run.paused")),
        "paused",
        derived_from="gate-approved-by-its-deadline",
        change="the gate has no deadline",
    ),
    Case(
        "gates-with-two-deadlines",
        "The run pauses when no call is open, and continues at each deadline",
        ("RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005"),
        _TWO_GATES,
        (
            entry("gate.opened", 0, task="late", deadline="2000-01-01T02:00:00.000000Z"),
            entry("gate.opened", 0, task="soon", deadline="2000-01-01T01:00:00.000000Z"),
            entry("run.paused", 5000, reason="gate"),
            entry("run.resumed", _HOUR),
            entry("gate.decided", _HOUR, task="soon", decision="approved"),
            entry("run.paused", _HOUR + 1000, reason="gate"),
            entry("run.resumed", 2 * _HOUR),
            entry("gate.decided", 2 * _HOUR, task="late"),
            entry("run.sealed", 2 * _HOUR + 1000, status="passed"),
        ),
    ),
    Case(
        "gates-with-one-deadline",
        "A gate without a deadline stays open after the deadline of another gate",
        ("RUN-GATE-002", "RUN-GATE-003", "RUN-VIRTUAL-005"),
        replace(_TWO_GATES, "plan", "tasks", "late", "gate", to={"question": "Late?"}),
        (
            entry("gate.decided", _HOUR, task="soon", decision="approved"),
            entry("run.paused", _HOUR + 1000, reason="gate"),
            Count(2, "run.paused"),
        ),
        "paused",
        derived_from="gates-with-two-deadlines",
        change="one of the gates has no deadline",
    ),
    Case(
        "gate-deadline-during-a-call",
        "A deadline that is reached while a call is open decides the gate without pausing the run",
        ("RUN-GATE-002", "RUN-VIRTUAL-004", "RUN-ORDER-002"),
        replace(
            replace(_TWO_GATES, "script", "answers", 0, "latency", to="5m"),
            "plan",
            "tasks",
            "soon",
            "gate",
            "deadline",
            to="1m",
        ),
        (
            entry("gate.decided", 60_000, task="soon"),
            entry("task.started", 60_000, task="soon"),
            entry("task.finished", 300_000, task="work"),
            Count(1, "run.paused"),
        ),
    ),
    Case(
        "decide",
        "A person's decision is recorded at the time of the last entry and bound to the displayed body",
        ("RUN-VIRTUAL-007", "RUN-ORDER-005"),
        _WITHOUT_DEADLINE,
        (
            entry("run.paused", 1000),
            _decision("approved", "person", 1000, causes=(7,), actor="person:ann", bodies={"reason": "read it"}),
        ),
        "paused",
        request=_APPROVE,
        before=EarlierRun(),
    ),
    Case(
        "resume-after-an-approval",
        "After a person approved, the run is resumed",
        ("RUN-GATE-002", "RUN-RESUME-001", "RUN-RESUME-002", "RUN-RESUME-003", "RUN-VIRTUAL-007"),
        _WITHOUT_DEADLINE,
        (
            _decision("approved", "person", 1000, actor="person:ann"),
            entry("run.resumed", 1000, implementation={"name": "deterministic", "version": "1"}),
            EntryClaim("task.started", {"task": "publish"}, 1000, (6, 9)),
            entry("run.sealed", 2000, status="passed"),
        ),
        request={"action": "resume"},
        before=EarlierRun(next_requests=(_APPROVE,)),
    ),
    Case(
        "resume-after-a-rejection",
        "After a person rejected, the task is refused",
        ("RUN-GATE-002", "RUN-RESUME-002", "RUN-STATE-001", "RUN-VIRTUAL-007"),
        _WITHOUT_DEADLINE,
        (
            _decision("rejected", "person", 1000, bodies={"reason": "read it"}),
            EntryClaim("task.ended", {"task": "publish", "state": "refused", "reason": "rejected"}, 1000, (4, 9)),
            entry("run.sealed", 1000, status="refused"),
        ),
        "refused",
        derived_from="resume-after-an-approval",
        change="the person rejects",
        request={"action": "resume"},
        before=EarlierRun(next_requests=(_REJECT,)),
    ),
    Case(
        "resume-after-an-approval-before-the-deadline",
        "After a person decides before the deadline, the run continues without waiting for the deadline",
        ("RUN-GATE-002", "RUN-VIRTUAL-007", "RUN-RESUME-002"),
        _GATE_WITH_DEADLINE,
        (_decision("approved", "person", 1000), entry("run.resumed", 1000), entry("run.sealed", 2000, status="passed")),
        request={"action": "resume"},
        before=EarlierRun(last_entry=_PAUSED, next_requests=(_APPROVE,)),
    ),
    Case(
        "resume-at-an-undecided-gate",
        "Resuming a run with an undecided gate changes nothing",
        ("RUN-RESUME-003", "RUN-VIRTUAL-007"),
        _WITHOUT_DEADLINE,
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
        derived_from="resume-after-an-approval",
        change="the gate is undecided",
        request={"action": "resume"},
        before=EarlierRun(),
    ),
    Case(
        "resume-at-a-gate-with-a-deadline",
        "A run paused at a gate with a deadline is resumed and continues at the deadline",
        ("RUN-VIRTUAL-005", "RUN-VIRTUAL-007", "RUN-RESUME-002"),
        _GATE_WITH_DEADLINE,
        (
            entry("run.paused", 1000),
            entry("run.resumed", 1000 + _HOUR),
            _decision("approved", "deadline", 1000 + _HOUR),
            Count(1, "run.paused"),
        ),
        request={"action": "resume"},
        before=EarlierRun(last_entry=_PAUSED),
    ),
    Case(
        "resume-after-an-edit",
        "A person's edit replaces the instruction, as text without references",
        ("RUN-GATE-004", "RUN-GATE-001", "RUN-HAND-003", "RUN-VIRTUAL-002", "RUN-VIRTUAL-007"),
        _INSTRUCTION_GATE,
        (
            EntryClaim(
                "gate.opened", {"task": "draft"}, 0, salted=("displayed",), bodies={"displayed": {"text": "Draft it."}}
            ),
            EntryClaim(
                "gate.decided",
                {"task": "draft"},
                0,
                salts={"edited": "resumed/4/0"},
                bodies={"edited": "Edited ${{ x }}."},
            ),
            EntryClaim(
                "task.started", {}, bodies={"prompt": {"text": "Edited ${{ x }}."}}, salts={"prompt": "resumed/6/0"}
            ),
            EntryClaim("task.finished", {}, bodies={"output": "edited"}, salts={"output": "resumed/7/1"}),
        ),
        request={"action": "resume"},
        before=EarlierRun(next_requests=(_EDIT,)),
    ),
    Case(
        "resume-after-an-edit-and-a-rejection",
        "An edited instruction has no effect if the task is rejected",
        ("RUN-GATE-004", "RUN-GATE-002"),
        _INSTRUCTION_GATE,
        (entry("task.ended", task="draft", state="refused", reason="rejected"), Count(0, "task.started")),
        "refused",
        derived_from="resume-after-an-edit",
        change="the person rejects",
        request={"action": "resume"},
        before=EarlierRun(next_requests=({**_EDIT, "decision": "rejected"},)),
    ),
    Case(
        "decide-without-an-open-gate",
        "A decision for a task without an open gate is refused",
        ("RUN-GATE-002",),
        _WITHOUT_DEADLINE,
        (),
        None,
        derived_from="decide",
        change="the decision is for a task without a gate",
        request={**_APPROVE, "task": "draft"},
        before=EarlierRun(),
    ),
    Case(
        "decide-twice",
        "A gate can be decided only once",
        ("RUN-GATE-002", "RUN-VIRTUAL-007"),
        _WITHOUT_DEADLINE,
        (),
        None,
        derived_from="decide",
        change="the gate is already decided",
        request=_APPROVE,
        before=EarlierRun(next_requests=(_APPROVE,)),
    ),
    Case(
        "decide-with-an-edit-for-a-program",
        "A task that runs a program has no instruction to edit",
        ("RUN-GATE-004",),
        _WITHOUT_DEADLINE,
        (),
        None,
        derived_from="decide",
        change="the decision comes with an instruction",
        request={**_APPROVE, "edited": "Do it."},
        before=EarlierRun(),
    ),
    Case(
        "redact",
        "A redaction in a sealed run removes the bytes of the body and its copy, and the run is sealed again",
        ("RUN-VIRTUAL-007", "RUN-ORDER-005"),
        _PLAIN,
        _REDACTED,
        request=_REDACT,
        before=EarlierRun(),
    ),
    Case(
        "redact-in-a-failed-run",
        "A redaction does not change the status of a failed run",
        ("RUN-VIRTUAL-007",),
        _ONE_FAILS,
        _REDACTED,
        "failed",
        derived_from="redact",
        change="the run failed",
        request=_REDACT,
        before=EarlierRun(),
    ),
    Case(
        "redact-an-unknown-body",
        "A body that the entry does not have cannot be redacted",
        ("RUN-VIRTUAL-007",),
        _PLAIN,
        (),
        None,
        derived_from="redact",
        change="the entry has no body of that name",
        request={**_REDACT, "body": "reply"},
        before=EarlierRun(),
    ),
    Case(
        "redact-twice",
        "A redacted body cannot be redacted again",
        ("RUN-VIRTUAL-007",),
        _PLAIN,
        (),
        None,
        derived_from="redact",
        change="the request is repeated",
        request=_REDACT,
        before=EarlierRun(next_requests=(_REDACT,)),
    ),
)

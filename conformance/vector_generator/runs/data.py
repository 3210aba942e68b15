"""Vectors of runs: conditions and instances."""

from vector_generator.runs.case import (
    Case,
    Count,
    Fact,
    Form,
    changed,
    fact,
    workflow,
)


def _order_edge(task: str) -> Form:
    return {"task": task, "edge": "order"}


_EACH = workflow(
    {
        "find": {"agent": "operator", "run": ["make", "find"], "output": {"type": "object"}},
        "each": {
            "agent": "operator",
            "run": ["make", "each", "${{ needs.item }}"],
            "foreach": {"task": "find", "select": "/items", "as": "item", "max": 2},
        },
        "after": {"agent": "operator", "run": ["make", "after"], "needs": [{"task": "each", "edge": "order"}]},
    },
    [
        {"task": "find", "output": {"items": ["x", {"n": 1}]}},
        {"task": "each[0]", "output": "first", "latency": "30ms"},
        {"task": "each[1]", "output": "second", "latency": "20ms"},
        {"output": "done"},
    ],
    policy={"on_failure": "continue"},
)


_FIND = ("script", "answers", 0, "output", "items")


_SECOND_FAILS = ("script", "answers", 2)


_ERROR = {"task": "each[1]", "error": {"kind": "exit_status"}, "latency": "20ms"}


_TOLERANT = workflow(
    {
        **_EACH["plan"]["tasks"],
        "each": {**_EACH["plan"]["tasks"]["each"], "allow_failure": True},
        "take": {"agent": "operator", "run": ["make", "take"], "needs": [{"task": "each", "as": "all"}]},
    },
    [*_EACH["script"]["answers"][:2], _ERROR, {"output": "done"}],
    policy={"on_failure": "stop"},
    outputs={"all": {"task": "each"}},
)


_ALL_FAIL = workflow(
    {
        **_TOLERANT["plan"]["tasks"],
        "after": {**_EACH["plan"]["tasks"]["after"], "needs": [_order_edge("each"), _order_edge("slow")]},
        "other": {"agent": "operator", "run": ["make", "other"]},
        "slow": {"agent": "operator", "run": ["make", "slow"]},
        "take": {**_TOLERANT["plan"]["tasks"]["take"], "needs": [{"task": "each", "as": "all"}, _order_edge("slow")]},
    },
    [
        _EACH["script"]["answers"][0],
        {**_ERROR, "task": "each"},
        {"task": "other", "output": "done", "latency": "50ms"},
        {"task": "slow", "output": "done", "latency": "90ms"},
        {"output": "done"},
    ],
    policy={"on_failure": "stop", "dispatch": "eager"},
    outputs={"all": {"task": "each"}},
)


def _expects(message: str) -> Fact:
    data = {"task": "each", "state": "failed", "reason": "expects"}
    return Fact("task.ended", data, 0, bodies={"detail": {"message": message}})


_WHEN = workflow(
    {
        "look": {"agent": "operator", "run": ["make", "look"], "output": {"type": "object"}},
        "act": {
            "agent": "operator",
            "run": ["make", "act"],
            "needs": [{"task": "look", "edge": "order"}],
            "when": {"task": "look", "select": "/state", "output": {"const": "dirty"}},
        },
        "rest": {"agent": "operator", "run": ["make", "rest"], "needs": [{"task": "act", "edge": "order"}]},
    },
    [{"task": "look", "output": {"state": "dirty"}}, {"output": "done"}],
    policy={"on_failure": "continue"},
)


_BESIDE = workflow(
    {
        "find": {"agent": "operator", "run": ["make", "find"], "output": {"type": "array"}},
        "each": {"agent": "operator", "run": ["make", "each"], "foreach": {"task": "find", "as": "i", "max": 9}},
        "bad": {"agent": "operator", "run": ["make", "bad"], "needs": [{"task": "find", "edge": "order"}]},
    },
    [
        {"task": "find", "output": [1, 2, 3]},
        {"task": "bad", "output": "fine", "latency": "10ms"},
        {"output": "ok", "latency": "30ms"},
    ],
    policy={"max_parallel": 2},
)


CASES: tuple[Case, ...] = (
    Case(
        "when-met",
        "A condition reads part of an output, and is met",
        ("RUN-WHEN-001",),
        _WHEN,
        (fact("task.ended", task="act", state="passed"), fact("run.sealed", counts={"passed": 3})),
    ),
    Case(
        "when-not-met",
        "A condition that is not met skips its task, which blocks no other task",
        ("RUN-WHEN-001", "RUN-ARRIVE-001", "RUN-FAIL-002"),
        changed(_WHEN, "script", "answers", 0, "output", "state", to="clean"),
        (
            fact("task.ended", task="act", state="skipped", reason="condition"),
            fact("task.ended", task="rest", state="passed"),
            fact("run.sealed", status="passed", counts={"passed": 2, "skipped": 1}),
        ),
    ),
    Case(
        "when-of-a-missing-value",
        "A condition whose value cannot be computed is not met",
        ("RUN-WHEN-001",),
        changed(_WHEN, "script", "answers", 0, "output", to={}),
        (fact("task.ended", task="act", state="skipped", reason="condition"), fact("run.sealed", status="passed")),
    ),
    Case(
        "when-of-a-failed-task",
        "A failed task has no output, so the condition is not met",
        ("RUN-WHEN-001", "RUN-ARRIVE-001"),
        changed(_WHEN, "script", "answers", 0, to={"task": "look", "error": {"kind": "exit_status"}}),
        (
            fact("task.ended", task="look", state="failed", reason="error"),
            fact("task.ended", task="act", state="skipped", reason="condition"),
            fact("task.ended", task="rest", state="passed"),
            fact("run.sealed", status="failed"),
        ),
        "failed",
        of="when-met",
        change="`look` fails",
    ),
    Case(
        "each",
        "Every item has an instance, and the task ends with the last of them",
        ("RUN-EXPAND-001", "RUN-EXPAND-002", "RUN-HAND-001", "RUN-TEXT-001"),
        _EACH,
        (
            Fact("task.expanded", {"task": "each", "instances": 2}, 0, bodies={"items": ["x", {"n": 1}]}),
            Fact("edge.delivered", {"task": "each[0]", "as": "item"}, bodies={"value": b'"x"'}),
            Fact("task.started", {"task": "each[0]"}, bodies={"prompt": {"argv": ["make", "each", "x"]}}),
            Fact("task.started", {"task": "each[1]"}, bodies={"prompt": {"argv": ["make", "each", '{"n":1}']}}),
            fact("task.ended", 20, task="each[1]", state="passed"),
            fact("task.ended", 30, task="each[0]", state="passed"),
            fact("task.ended", 30, task="each", state="passed"),
            fact("task.started", 30, task="after"),
        ),
    ),
    Case(
        "each-of-no-items",
        "A task without items passes at once",
        ("RUN-EXPAND-001", "RUN-EXPAND-002"),
        changed(_EACH, *_FIND, to=[]),
        (
            fact("task.expanded", 0, task="each", instances=0),
            fact("task.ended", 0, task="each", state="passed"),
            fact("task.started", 0, task="after"),
        ),
    ),
    Case(
        "each-with-a-tolerated-instance",
        "Tolerated instances do not prevent the task from passing; its output contains those of the other instances",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        _TOLERANT,
        (
            fact("task.ended", 20, task="each[1]", state="tolerated", reason="error"),
            fact("task.ended", 30, task="each", state="passed"),
            Fact("edge.delivered", {"task": "take"}, 30, bodies={"value": b'["first"]'}),
            fact("task.ended", task="after", state="passed"),
            Fact("answer.given", {"output": "all"}, bodies={"value": b'["first"]'}),
            fact("run.sealed", status="passed", counts={"passed": 4}),
        ),
    ),
    Case(
        "each-with-all-instances-tolerated",
        "If all instances are tolerated, so is the task: it delivers no data, blocks no task, and the run passes",
        ("RUN-EXPAND-002", "RUN-STATE-001", "RUN-FAIL-001", "RUN-FAIL-002", "RUN-SEAL-002"),
        _ALL_FAIL,
        (
            fact("task.ended", task="each[0]", state="tolerated", reason="error"),
            fact("task.ended", task="each[1]", state="tolerated", reason="error"),
            fact("task.ended", 20, task="each", state="tolerated", reason="error"),
            fact("task.ended", 90, task="take", state="skipped", reason="upstream"),
            fact("task.ended", 90, task="after", state="passed"),
            Count(0, "answer.given"),
            fact("run.sealed", status="passed", counts={"passed": 4, "tolerated": 1, "skipped": 1}),
        ),
    ),
    Case(
        "each-tolerated-by-their-checks",
        "The reason of a task whose instances are all tolerated is `error`, whatever their own reasons",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        changed(
            changed(_TOLERANT, "plan", "tasks", "each", "accept", to=[{"schema": {"const": "good"}}]),
            *_SECOND_FAILS,
            to={"task": "each[1]", "output": "second", "latency": "20ms"},
        ),
        (
            fact("task.ended", 20, task="each[1]", state="tolerated", reason="verdict"),
            fact("task.ended", 30, task="each[0]", state="tolerated", reason="verdict"),
            fact("task.ended", 30, task="each", state="tolerated", reason="error"),
            fact("run.sealed", status="passed"),
        ),
    ),
    Case(
        "each-of-no-items-with-allow-failure",
        "A task with allow_failure and no items passes with an empty list",
        ("RUN-EXPAND-002",),
        changed(_TOLERANT, *_FIND, to=[]),
        (
            fact("task.ended", 0, task="each", state="passed"),
            Fact("edge.delivered", {"task": "take"}, 0, bodies={"value": b"[]"}),
            Fact("answer.given", {"output": "all"}, bodies={"value": b"[]"}),
        ),
    ),
    Case(
        "skipped-after-a-tolerated-task",
        "In a run that is stopping, tasks are skipped because of missing data, not because of a tolerated task",
        ("RUN-FAIL-001", "RUN-FAIL-002", "RUN-EXPAND-002"),
        changed(
            _ALL_FAIL,
            "script",
            "answers",
            2,
            to={"task": "other", "error": {"kind": "exit_status"}, "latency": "50ms"},
        ),
        (
            fact("task.ended", 20, task="each", state="tolerated", reason="error"),
            fact("task.ended", 50, task="other", state="failed", reason="error"),
            fact("task.ended", 50, task="after", state="skipped", reason="failure"),
            fact("task.ended", 50, task="take", state="skipped", reason="upstream"),
            fact("run.sealed", 90, status="failed"),
        ),
        "failed",
        of="each-with-all-instances-tolerated",
        change="`other` fails while two tasks wait for `slow`",
    ),
    Case(
        "each-with-a-failed-instance",
        "A task with a failed instance fails; with `continue`, the other instances continue",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        changed(_EACH, *_SECOND_FAILS, to=_ERROR),
        (
            fact("task.ended", 20, task="each[1]", state="failed", reason="error"),
            fact("task.ended", 30, task="each[0]", state="passed"),
            fact("task.ended", 30, task="each", state="failed", reason="error"),
            fact("task.ended", task="after", state="passed"),
        ),
        "failed",
        of="each",
        change="the second instance fails",
    ),
    Case(
        "each-of-too-many-items",
        "More items than the plan allows fail the task before it has instances",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        changed(_EACH, *_FIND, to=["x", "y", "z"]),
        (_expects("there are 3 items, but `max` is 2"), Count(0, "task.expanded")),
        "failed",
        of="each",
        change="there are three items",
    ),
    Case(
        "each-of-a-non-list",
        "Items that are not a list fail the task",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        changed(_EACH, *_FIND, to={"x": 1}),
        (_expects("the items are not a list"),),
        "failed",
        of="each",
        change="the items are an object",
    ),
    Case(
        "each-of-missing-items",
        "Items that cannot be computed fail the task",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        changed(_EACH, "script", "answers", 0, "output", to={"other": []}),
        (_expects("the items are unavailable: no value at '/items'"),),
        "failed",
        of="each",
        change="the output has no `/items`",
    ),
    Case(
        "each-in-parallel",
        "Instances queue with other tasks: no more calls are open than `max_parallel` allows",
        ("RUN-EXPAND-001", "RUN-ORDER-002", "RUN-FAIL-001"),
        _BESIDE,
        (
            fact("task.started", 0, task="bad"),
            fact("task.started", 0, task="each[0]"),
            fact("task.finished", 10, task="bad"),
            fact("task.started", 10, task="each[1]"),
            fact("task.started", 30, task="each[2]"),
            fact("task.ended", 60, task="each", state="passed"),
        ),
    ),
    Case(
        "each-cut-short-by-a-failure",
        "When a run stops, instances that have not started are skipped, and a task with other instances is cancelled",
        ("RUN-EXPAND-002", "RUN-FAIL-001", "RUN-STATE-001", "RUN-SEAL-002"),
        changed(
            _BESIDE,
            "script",
            "answers",
            1,
            to={
                "task": "bad",
                "error": {"kind": "exit_status"},
                "latency": "10ms",
            },
        ),
        (
            fact("task.started", 0, task="bad"),
            fact("task.started", 0, task="each[0]"),
            fact("task.ended", 10, task="bad", state="failed"),
            fact("task.ended", 10, task="each[1]", state="skipped", reason="failure"),
            fact("task.ended", 10, task="each[2]", state="skipped", reason="failure"),
            fact("task.ended", 30, task="each[0]", state="passed"),
            fact("task.ended", 30, task="each", state="cancelled", reason="failure"),
            fact("run.sealed", 30, status="failed", counts={"failed": 1, "cancelled": 1, "passed": 1}),
        ),
        "failed",
        of="each-in-parallel",
        change="`bad` fails while the first instance is under way",
    ),
)

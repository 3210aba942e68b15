"""Run vectors: conditions and instances."""

from vector_generator.runs.case import (
    Case,
    Count,
    EntryClaim,
    ManifestPart,
    entry,
    replace,
    workflow,
)


def _order_edge(task: str) -> ManifestPart:
    return {"task": task, "edge": "order"}


_FOREACH = workflow(
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

_ITEMS_PATH = ("script", "answers", 0, "output", "items")

_SECOND_ANSWER_PATH = ("script", "answers", 2)

_SECOND_FAILS = {"task": "each[1]", "error": {"kind": "exit_status"}, "latency": "20ms"}

_TOLERANT = workflow(
    {
        **_FOREACH["plan"]["tasks"],
        "each": {**_FOREACH["plan"]["tasks"]["each"], "allow_failure": True},
        "take": {"agent": "operator", "run": ["make", "take"], "needs": [{"task": "each", "as": "all"}]},
    },
    [*_FOREACH["script"]["answers"][:2], _SECOND_FAILS, {"output": "done"}],
    policy={"on_failure": "stop"},
    outputs={"all": {"task": "each"}},
)

_ALL_FAIL = workflow(
    {
        **_TOLERANT["plan"]["tasks"],
        "after": {**_FOREACH["plan"]["tasks"]["after"], "needs": [_order_edge("each"), _order_edge("slow")]},
        "other": {"agent": "operator", "run": ["make", "other"]},
        "slow": {"agent": "operator", "run": ["make", "slow"]},
        "take": {**_TOLERANT["plan"]["tasks"]["take"], "needs": [{"task": "each", "as": "all"}, _order_edge("slow")]},
    },
    [
        _FOREACH["script"]["answers"][0],
        {**_SECOND_FAILS, "task": "each"},
        {"task": "other", "output": "done", "latency": "50ms"},
        {"task": "slow", "output": "done", "latency": "90ms"},
        {"output": "done"},
    ],
    policy={"on_failure": "stop", "dispatch": "eager"},
    outputs={"all": {"task": "each"}},
)


def _failed_by_expects(message: str) -> EntryClaim:
    data = {"task": "each", "state": "failed", "reason": "expects"}
    return EntryClaim("task.ended", data, 0, bodies={"detail": {"message": message}})


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

_PARALLEL = workflow(
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
        "A condition on part of an output is met",
        ("RUN-WHEN-001",),
        _WHEN,
        (entry("task.ended", task="act", state="passed"), entry("run.sealed", counts={"passed": 3})),
    ),
    Case(
        "when-not-met",
        "A condition that is not met skips its task without blocking other tasks",
        ("RUN-WHEN-001", "RUN-ARRIVE-001", "RUN-FAIL-002"),
        replace(_WHEN, "script", "answers", 0, "output", "state", to="clean"),
        (
            entry("task.ended", task="act", state="skipped", reason="condition"),
            entry("task.ended", task="rest", state="passed"),
            entry("run.sealed", status="passed", counts={"passed": 2, "skipped": 1}),
        ),
    ),
    Case(
        "when-with-a-missing-value",
        "A condition whose value cannot be computed is not met",
        ("RUN-WHEN-001",),
        replace(_WHEN, "script", "answers", 0, "output", to={}),
        (entry("task.ended", task="act", state="skipped", reason="condition"), entry("run.sealed", status="passed")),
    ),
    Case(
        "when-after-a-failed-task",
        "A failed task has no output, so the condition is not met",
        ("RUN-WHEN-001", "RUN-ARRIVE-001"),
        replace(_WHEN, "script", "answers", 0, to={"task": "look", "error": {"kind": "exit_status"}}),
        (
            entry("task.ended", task="look", state="failed", reason="error"),
            entry("task.ended", task="act", state="skipped", reason="condition"),
            entry("task.ended", task="rest", state="passed"),
            entry("run.sealed", status="failed"),
        ),
        "failed",
        derived_from="when-met",
        change="`look` fails",
    ),
    Case(
        "foreach",
        "Every item has an instance, and the task ends when its last instance ends",
        ("RUN-EXPAND-001", "RUN-EXPAND-002", "RUN-HAND-001", "RUN-TEXT-001"),
        _FOREACH,
        (
            EntryClaim("task.expanded", {"task": "each", "instances": 2}, 0, bodies={"items": ["x", {"n": 1}]}),
            EntryClaim("edge.delivered", {"task": "each[0]", "as": "item"}, bodies={"value": b'"x"'}),
            EntryClaim("task.started", {"task": "each[0]"}, bodies={"prompt": {"argv": ["make", "each", "x"]}}),
            EntryClaim("task.started", {"task": "each[1]"}, bodies={"prompt": {"argv": ["make", "each", '{"n":1}']}}),
            entry("task.ended", 20, task="each[1]", state="passed"),
            entry("task.ended", 30, task="each[0]", state="passed"),
            entry("task.ended", 30, task="each", state="passed"),
            entry("task.started", 30, task="after"),
        ),
    ),
    Case(
        "foreach-with-no-items",
        "A task without items passes at once",
        ("RUN-EXPAND-001", "RUN-EXPAND-002"),
        replace(_FOREACH, *_ITEMS_PATH, to=[]),
        (
            entry("task.expanded", 0, task="each", instances=0),
            entry("task.ended", 0, task="each", state="passed"),
            entry("task.started", 0, task="after"),
        ),
    ),
    Case(
        "foreach-with-a-tolerated-instance",
        "A task with a tolerated instance passes, and its output contains the outputs of the other instances",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        _TOLERANT,
        (
            entry("task.ended", 20, task="each[1]", state="tolerated", reason="error"),
            entry("task.ended", 30, task="each", state="passed"),
            EntryClaim("edge.delivered", {"task": "take"}, 30, bodies={"value": b'["first"]'}),
            entry("task.ended", task="after", state="passed"),
            EntryClaim("answer.given", {"output": "all"}, bodies={"value": b'["first"]'}),
            entry("run.sealed", status="passed", counts={"passed": 4}),
        ),
    ),
    Case(
        "foreach-with-all-instances-tolerated",
        "If all instances are tolerated, so is the task: it delivers no data and blocks no task, and the run passes",
        ("RUN-EXPAND-002", "RUN-STATE-001", "RUN-FAIL-001", "RUN-FAIL-002", "RUN-SEAL-002"),
        _ALL_FAIL,
        (
            entry("task.ended", task="each[0]", state="tolerated", reason="error"),
            entry("task.ended", task="each[1]", state="tolerated", reason="error"),
            entry("task.ended", 20, task="each", state="tolerated", reason="error"),
            entry("task.ended", 90, task="take", state="skipped", reason="upstream"),
            entry("task.ended", 90, task="after", state="passed"),
            Count(0, "answer.given"),
            entry("run.sealed", status="passed", counts={"passed": 4, "tolerated": 1, "skipped": 1}),
        ),
    ),
    Case(
        "foreach-with-all-instances-tolerated-by-checks",
        "A task whose instances are all tolerated has the reason `error`, whatever the reasons of its instances",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        replace(
            replace(_TOLERANT, "plan", "tasks", "each", "accept", to=[{"schema": {"const": "good"}}]),
            *_SECOND_ANSWER_PATH,
            to={"task": "each[1]", "output": "second", "latency": "20ms"},
        ),
        (
            entry("task.ended", 20, task="each[1]", state="tolerated", reason="verdict"),
            entry("task.ended", 30, task="each[0]", state="tolerated", reason="verdict"),
            entry("task.ended", 30, task="each", state="tolerated", reason="error"),
            entry("run.sealed", status="passed"),
        ),
    ),
    Case(
        "foreach-with-no-items-and-allow-failure",
        "A task with allow_failure and no items passes with an empty list",
        ("RUN-EXPAND-002",),
        replace(_TOLERANT, *_ITEMS_PATH, to=[]),
        (
            entry("task.ended", 0, task="each", state="passed"),
            EntryClaim("edge.delivered", {"task": "take"}, 0, bodies={"value": b"[]"}),
            EntryClaim("answer.given", {"output": "all"}, bodies={"value": b"[]"}),
        ),
    ),
    Case(
        "skipped-after-a-tolerated-task",
        "In a run that is stopping, tasks are skipped because of missing data, not because of a tolerated task",
        ("RUN-FAIL-001", "RUN-FAIL-002", "RUN-EXPAND-002"),
        replace(
            _ALL_FAIL,
            "script",
            "answers",
            2,
            to={"task": "other", "error": {"kind": "exit_status"}, "latency": "50ms"},
        ),
        (
            entry("task.ended", 20, task="each", state="tolerated", reason="error"),
            entry("task.ended", 50, task="other", state="failed", reason="error"),
            entry("task.ended", 50, task="after", state="skipped", reason="failure"),
            entry("task.ended", 50, task="take", state="skipped", reason="upstream"),
            entry("run.sealed", 90, status="failed"),
        ),
        "failed",
        derived_from="foreach-with-all-instances-tolerated",
        change="`other` fails while two tasks wait for `slow`",
    ),
    Case(
        "foreach-with-a-failed-instance",
        "A task with a failed instance fails; with `continue`, the other instances continue",
        ("RUN-EXPAND-002", "RUN-STATE-001"),
        replace(_FOREACH, *_SECOND_ANSWER_PATH, to=_SECOND_FAILS),
        (
            entry("task.ended", 20, task="each[1]", state="failed", reason="error"),
            entry("task.ended", 30, task="each[0]", state="passed"),
            entry("task.ended", 30, task="each", state="failed", reason="error"),
            entry("task.ended", task="after", state="passed"),
        ),
        "failed",
        derived_from="foreach",
        change="the second instance fails",
    ),
    Case(
        "foreach-with-too-many-items",
        "A task with more items than the plan allows fails before it is expanded",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        replace(_FOREACH, *_ITEMS_PATH, to=["x", "y", "z"]),
        (_failed_by_expects("there are 3 items, but `max` is 2"), Count(0, "task.expanded")),
        "failed",
        derived_from="foreach",
        change="there are three items",
    ),
    Case(
        "foreach-over-a-non-list",
        "A task whose items are not a list fails",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        replace(_FOREACH, *_ITEMS_PATH, to={"x": 1}),
        (_failed_by_expects("the items are not a list"),),
        "failed",
        derived_from="foreach",
        change="the items are an object",
    ),
    Case(
        "foreach-with-missing-items",
        "A task whose items cannot be computed fails",
        ("RUN-EXPAND-001", "RUN-HAND-001"),
        replace(_FOREACH, "script", "answers", 0, "output", to={"other": []}),
        (_failed_by_expects("the items are unavailable: no value at '/items'"),),
        "failed",
        derived_from="foreach",
        change="the output has no `/items`",
    ),
    Case(
        "foreach-in-parallel",
        "Instances share the queue with other tasks, and `max_parallel` limits them together",
        ("RUN-EXPAND-001", "RUN-ORDER-002", "RUN-FAIL-001"),
        _PARALLEL,
        (
            entry("task.started", 0, task="bad"),
            entry("task.started", 0, task="each[0]"),
            entry("task.finished", 10, task="bad"),
            entry("task.started", 10, task="each[1]"),
            entry("task.started", 30, task="each[2]"),
            entry("task.ended", 60, task="each", state="passed"),
        ),
    ),
    Case(
        "foreach-interrupted-by-a-failure",
        "After a failure, instances that have not started are skipped, and their task is cancelled",
        ("RUN-EXPAND-002", "RUN-FAIL-001", "RUN-STATE-001", "RUN-SEAL-002"),
        replace(
            _PARALLEL,
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
            entry("task.started", 0, task="bad"),
            entry("task.started", 0, task="each[0]"),
            entry("task.ended", 10, task="bad", state="failed"),
            entry("task.ended", 10, task="each[1]", state="skipped", reason="failure"),
            entry("task.ended", 10, task="each[2]", state="skipped", reason="failure"),
            entry("task.ended", 30, task="each[0]", state="passed"),
            entry("task.ended", 30, task="each", state="cancelled", reason="failure"),
            entry("run.sealed", 30, status="failed", counts={"failed": 1, "cancelled": 1, "passed": 1}),
        ),
        "failed",
        derived_from="foreach-in-parallel",
        change="`bad` fails while the first instance is running",
    ),
)

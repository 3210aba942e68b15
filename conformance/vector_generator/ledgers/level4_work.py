"""Violations of LEDGER-SEMANTICS-010 to 018: attempts, checks, escalations, budgets, ends and values."""

from typing import Any

from fake_ledger.files import SALT, Body, json_body
from fake_ledger.ledger_builder import NO_USAGE, STATES
from fake_ledger.run_builder import DONE, NOTHING_RESERVED
from fake_ledger.wave_plans import CAPABLE, CHEAP, data_edge, retry
from vector_generator.ledgers.edits import Edit, body, combine, drop, facts, insert, members, move, plan, repeat
from vector_generator.ledgers.level4_plan import REUSED, started
from vector_generator.ledgers.row import Row
from vector_generator.ledgers.runs import RESERVED, TEXT

ERROR = {"status": "error", "error": "internal"}


def _reuse(before: int, unit: str) -> Edit:
    return insert(before, "task.reused", {"task": unit, **REUSED}, bodies={"output": DONE})


def _escalation(before: int, causes: tuple[int, ...] = (), tier: str = "cheap", to: str = "capable") -> Edit:
    return insert(before, "escalation.raised", {"task": "a", "from": tier, "to": to}, causes)


def _limit(amount: str, value: int) -> Edit:
    description = f"the run's budget has {value} `{amount}`"
    return plan(description, lambda document: document["policy"]["budget"].update({amount: value}))


ATTEMPTS = (
    Row("attempt-after-the-end", "one-task", "010", "L409", 4, "an attempt starts after its task ended",
        insert(4, "task.started", started("a", attempt=2), [2])),
    Row("attempt-after-a-reuse", "reused", "010", "L409", 2, "an attempt starts although a result was reused",
        insert(2, "task.started", started("a"))),
    Row("attempt-during-an-open-one", "one-task", "010", "L409", 2, "an attempt starts while another is open",
        insert(2, "task.started", started("a", attempt=2), [1])),
    Row("attempt-after-an-accepted-result", "one-task", "010", "L409", 3,
        "an attempt starts although the result already holds",
        insert(3, "task.started", started("a", attempt=2), [2])),
    Row("first-attempt-numbered-two", "one-task", "010 001 KIND-002", "L409", 1, "the first attempt has number 2",
        facts(1, attempt=2)),
    Row("attempt-number-skipped", "retried", "010", "L409", 3, "the second attempt has number 3",
        facts(3, attempt=3)),
    Row("value-not-delivered", "delivered", "010", "L406", 4, "a task starts before its value is delivered",
        drop(4)),
    Row("item-not-delivered", "expanded", "010", "L406", 5, "an instance starts before its item is delivered",
        drop(5)),
    Row("gate-not-opened", "gated-with-a-deadline", "010", "L414", 1,
        "a task with a gate starts, but its gate was never opened",
        insert(1, "task.started", started("a"))),
    Row("gate-not-decided", "gated", "010", "L414", 4, "a task starts before its gate is decided", drop(3)),
    Row("gate-rejected", "gated", "010", "L414", 5, "a task starts although its gate was rejected",
        facts(3, decision="rejected")),
    Row("attempt-by-another-agent", "one-task", "010", "L411", 1, "an attempt uses a different agent than the plan's",
        facts(1, agent="critic")),
    Row("attempt-by-another-tier", "one-task", "010", "L411", 1,
        "an attempt uses a different tier than the ladder's first",
        facts(1, tier="capable")),
    Row("attempt-by-another-adapter", "one-task", "010", "L411", 1,
        "an attempt uses a different adapter than the ladder's",
        facts(1, adapter="large")),
    Row("attempt-by-the-previous-tier", "escalated", "010 013", "L411", 5,
        "an attempt after an escalation uses the previous tier", facts(5, **CHEAP)),
    Row("attempt-without-a-route", "routed", "010 008", "L411", 1, "a task with a lane starts before it is routed",
        drop(1)),
    Row("attempt-by-an-agent-not-routed", "routed", "010 008", "L411", 2,
        "an attempt uses a different agent than the routed one",
        facts(2, agent="critic")),
    Row("one-attempt-too-many", "retried", "010", "L410", 3, "more attempts than the policy allows",
        plan("the policy allows one attempt", lambda document: document["policy"].update(retry=retry(1)))),
    Row("one-attempt-too-many-of-a-task", "retried", "010", "L410", 3, "more attempts than the task allows",
        plan("the task allows one attempt", lambda document: document["tasks"]["a"].update(retry=retry(1)))),
    Row("one-attempt-too-many-at-a-step", "resumed", "010", "L410", 6,
        "more attempts at a step than allowed: one was lost, none cancelled",
        facts(5, **ERROR)),
    Row("too-many-parallel-calls", "parallel", "010", "L413", 2, "more calls are open than max_parallel allows",
        plan("`max_parallel` is 1", lambda document: document["policy"].update(max_parallel=1))),
    Row("attempt-without-its-delivery", "delivered", "010", "L426", 5,
        "an attempt's causes do not include the last delivery",
        members(5, causes=[3])),
    Row("attempt-without-its-decision", "gated", "010", "L426", 5,
        "an attempt's causes do not include the decision at its gate",
        members(5, causes=[1])),
    Row("attempt-without-the-previous-one", "retried", "010", "L426", 3,
        "the second attempt's causes do not include the entry that closed the first", members(3, causes=[1])),
    Row("finished-without-a-start", "one-task", "011 KIND-002", "L408", 1, "an attempt that did not start is finished",
        drop(1)),
    Row("another-attempt-finished", "one-task", "011", "L408", 2,
        "an entry finishes a different attempt than the open one",
        facts(2, attempt=2)),
    Row("finished-twice", "retried", "011", "L408", 3, "an attempt is finished twice", repeat(2, 3)),
    Row("lost-after-it-finished", "retried", "011", "L408", 3, "an attempt is lost after it finished",
        insert(3, "task.lost", {"task": "a", "attempt": 1}, [1])),
    Row("finished-without-its-cause", "one-task", "011", "L426", 2,
        "the causes of task.finished do not include the start of the attempt",
        members(2, causes=[0])),
    Row("lost-without-its-cause", "resumed", "011", "L426", 3,
        "the causes of task.lost do not include the start of the attempt",
        members(3, causes=[0])),
    Row("reused-twice", "reused", "011", "L409", 2, "a result is reused twice for one task", repeat(1, 2)),
    Row("reused-after-an-attempt", "retried", "011", "L409", 3, "a result is reused after an attempt",
        _reuse(3, "a")),
    Row("reused-after-the-end", "reused", "011", "L409", 3, "a result is reused for a task that has ended",
        repeat(1, 3)),
    Row("reused-without-its-value", "delivered", "011", "L406", 4,
        "a result is reused before its value is delivered",
        _reuse(4, "b")),
    Row("reused-before-its-source", "delivered", "011 005", "L403", 3,
        "a result is reused before the source of its value ended", _reuse(3, "b")),
    Row("reused-before-its-gate", "gated", "011", "L414", 1, "a result is reused before its gate is decided",
        _reuse(1, "a")),
)  # fmt: skip

CHECKS = (
    Row("check-of-an-open-attempt", "escalated", "012", "L415", 2, "a result is checked while its attempt is open",
        move(3, 2)),
    Row("check-of-another-attempt", "checked", "012", "L415", 3, "a check is of a different attempt than the last",
        facts(3, attempt=2)),
    Row("check-of-a-failed-attempt", "escalated", "012", "L415", 3, "a check of an attempt that ended with an error",
        combine(facts(2, **ERROR), body(2, "output", None))),
    Row("check-skipped", "checked", "012", "L415", 3, "a check is asked before the previous one passed", drop(3)),
    Row("check-passed-twice", "checked", "012", "L415", 4, "a check that passed is made again", repeat(3, 4)),
    Row("check-after-a-failure", "escalated", "012", "L415", 4, "a check follows a failed one",
        repeat(3, 4, verdict="pass")),
    Row("agent-check-instead-of-a-command-check", "checked", "012", "L415", 4,
        "an agent is asked for a command check",
        facts(4, by="agent", agent="critic", **CHEAP)),
    Row("command-check-instead-of-a-schema-check", "checked", "012", "L415", 3,
        "a command is asked for a schema check",
        combine(members(3, kind="verdict.asked"),
             facts(3, by="command", verdict=None, reserved=NOTHING_RESERVED))),
    Row("check-after-the-end", "checked", "012", "L415", 9, "a check is asked after its task ended", repeat(6, 9)),
    Row("check-during-an-open-one", "checked", "012", "L415", 5, "a check is asked while it is open", repeat(4, 5)),
    Row("check-by-another-agent", "checked", "012", "L411", 6, "a check uses a different agent than the plan's",
        facts(6, agent="worker")),
    Row("check-by-another-tier", "checked", "012", "L411", 6, "a check uses a different tier than the agent's own",
        facts(6, **CAPABLE)),
    Row("check-over-max-parallel", "checked", "012", "L413", 5, "a check is asked while max_parallel calls are open",
        move(9, 4)),
    Row("check-without-its-cause", "checked", "012", "L426", 4,
        "the causes of verdict.asked do not include the end of the attempt",
        members(4, causes=[1])),
    Row("schema-verdict-without-its-cause", "checked", "012", "L426", 3,
        "the causes of a schema's verdict do not include the end of the attempt", members(3, causes=[1])),
    Row("verdict-without-being-asked", "checked", "012 KIND-002", "L408", 4,
        "a command's verdict without verdict.asked",
        drop(4)),
    Row("verdict-on-another-attempt", "checked", "012", "L408", 5,
        "a verdict is for a different attempt than the open check's",
        facts(5, attempt=2)),
    Row("verdict-of-another-check", "checked", "012", "L408", 5, "a verdict is for a different check than the open one",
        facts(5, check=2, by="agent")),
    Row("verdict-by-another-type", "checked", "012", "L408", 5, "a verdict has a different `by` than its question",
        facts(5, by="agent")),
    Row("verdict-lost-twice", "check-asked-again", "012", "L408", 7, "a check is lost twice", repeat(6, 7)),
    Row("finished-while-a-check-is-open", "checked", "011 012", "L408", 5,
        "an attempt is finished while its check is open",
        repeat(2, 5)),
    Row("verdict-without-its-cause", "checked", "012", "L426", 5, "a verdict's causes do not include verdict.asked",
        members(5, causes=[2])),
    Row("verdict-lost-without-its-cause", "check-asked-again", "012", "L426", 6,
        "the causes of verdict.lost do not include verdict.asked",
        members(6, causes=[2])),
)  # fmt: skip

ESCALATIONS = (
    Row("escalation-before-an-attempt", "one-task", "013", "L418", 1, "an escalation before any attempt",
        _escalation(1)),
    Row("escalation-while-open", "one-task", "013", "L418", 2, "an escalation while the attempt is open",
        _escalation(2, (1,))),
    Row("escalation-after-an-accepted-result", "one-task", "013", "L418", 3, "an escalation although the result holds",
        _escalation(3, (2,))),
    Row("escalation-after-the-end", "failed", "013", "L418", 4, "an escalation after its task ended",
        _escalation(4, (2,))),
    Row("escalation-from-another-tier", "escalated", "013", "L418", 4,
        "an escalation from a different tier than the current one",
        facts(4, **{"from": "frontier"})),
    Row("escalation-skips-a-step", "escalated", "013", "L418", 4, "an escalation to a different tier than the next",
        facts(4, to="frontier")),
    Row("escalation-beyond-the-last-step", "tolerated", "013", "L418", 3,
        "an escalation although the ladder has no next step", _escalation(3, (2,))),
    Row("escalation-without-its-cause", "escalated", "013", "L426", 4,
        "an escalation's causes do not include the entry that closed the attempt", members(4, causes=[1])),
)  # fmt: skip


def _end(seq: int, state: str, reason: str | None = "error") -> Edit:
    return facts(seq, state=state, reason=reason)


ENDS = (
    Row("ended-twice", "one-task", "014", "L417", 4, "a task ends twice", repeat(3, 4)),
    Row("ended-while-open", "one-task", "014", "L417", 2, "a task ends while its attempt is open", drop(2)),
    Row("passed-without-an-attempt", "skipped", "014", "L417", 4, "a task passes without an attempt",
        _end(4, "passed", None)),
    Row("passed-with-an-error", "tolerated", "014", "L417", 3, "a task passes although its attempt ended with an error",
        _end(3, "passed", None)),
    Row("passed-without-a-check", "escalated", "014", "L417", 7, "a task passes although its check was not made",
        drop(7)),
    Row("failed-with-an-accepted-result", "one-task", "014", "L417", 3, "a task fails although its result holds",
        _end(3, "failed")),
    Row("failed-with-allow-failure", "tolerated", "014", "L417", 3,
        "a task with allow_failure ends failed instead of tolerated",
        _end(3, "failed")),
    Row("tolerated-without-allow-failure", "failed", "014", "L417", 3, "a task without allow_failure ends tolerated",
        _end(3, "tolerated")),
    Row("tolerated-with-an-accepted-result", "reused", "014", "L417", 2,
        "a task is tolerated although its result holds",
        _end(2, "tolerated")),
    Row("skipped-after-an-attempt", "failed", "014", "L417", 3, "a task is skipped after an attempt",
        _end(3, "skipped", "upstream")),
    Row("skipped-after-a-reuse", "reused", "014", "L417", 2, "a task is skipped although a result was reused",
        _end(2, "skipped", "upstream")),
    Row("skipped-by-a-missing-condition", "failed", "014", "L417", 4,
        "a task without a condition is skipped by condition",
        _end(4, "skipped", "condition")),
    Row("skipped-by-an-empty-condition", "skipped", "014", "L417", 4,
        "a task with an empty `when` is skipped by condition",
        plan("`b` has an empty `when`", lambda document: document["tasks"]["b"].update(when=[]))),
    Row("stopped-with-an-accepted-result", "one-task", "014", "L417", 3, "a task is stopped although its result holds",
        _end(3, "stopped", "budget")),
    Row("refused-with-an-accepted-result", "one-task", "014", "L417", 3, "a task is refused although its result holds",
        _end(3, "refused", "policy")),
    Row("cancelled-with-an-accepted-result", "one-task", "014", "L417", 3,
        "a task is cancelled although its result holds",
        _end(3, "cancelled", "interrupted")),
    Row("ended-before-an-instance", "expanded", "014", "L417", 12,
        "a task with foreach ends before one of its instances",
        drop(12)),
    Row("passed-without-an-expansion", "failed", "014", "L417", 5, "a task with foreach passes without being expanded",
        _end(5, "passed", None)),
    Row("failed-with-all-instances-passed", "expanded", "014", "L417", 13,
        "a task with foreach fails although every instance passed",
        _end(13, "failed")),
    Row("skipped-after-an-instance", "expanded", "014", "L417", 13,
        "a task with foreach is skipped after an attempt of an instance",
        _end(13, "skipped", "upstream")),
    Row("passed-with-all-instances-tolerated", "expanded-and-all-tolerated", "014", "L417", 13,
        "a task with foreach passes although every instance was tolerated", _end(13, "passed", None)),
    Row("stopped-with-all-instances-tolerated", "expanded-and-all-tolerated", "014", "L417", 13,
        "a task with foreach is stopped although every instance was tolerated", _end(13, "stopped", "budget")),
    Row("skipped-with-all-instances-tolerated", "expanded-and-tolerated-without-attempts", "014", "L417", 7,
        "a task with foreach is skipped although every instance was tolerated without an attempt",
        _end(7, "skipped", "failure")),
    Row("tolerated-with-a-passed-instance", "expanded-and-one-tolerated", "014", "L417", 13,
        "a task with foreach is tolerated although an instance passed", _end(13, "tolerated")),
    Row("tolerated-without-instances", "expanded-to-no-instances", "014", "L417", 5,
        "a task with foreach is tolerated although it has no instances", _end(5, "tolerated")),
    Row("ended-without-its-cause", "one-task", "014", "L426", 3,
        "the causes of task.ended do not include the entry that closed the attempt",
        members(3, causes=[1])),
)  # fmt: skip

BUDGETS = (
    Row("over-the-call-budget", "parallel", "015", "L412", 2, "more calls than the run's budget", _limit("calls", 1)),
    Row("over-the-input-token-budget", "parallel", "015", "L412", 2, "more input tokens than the run's budget",
        _limit("input_tokens", 11)),
    Row("over-the-output-token-budget", "parallel", "015", "L412", 2, "more output tokens than the run's budget",
        _limit("output_tokens", 7)),
    Row("over-the-token-budget", "parallel", "015", "L412", 2, "more tokens, input and output, than the run's budget",
        _limit("tokens", 19)),
    Row("over-the-money-budget", "parallel", "015", "L412", 2, "more money than the run's budget", _limit("micro_usd",
        9)),
    Row("over-the-output-byte-budget", "parallel", "015", "L412", 2, "more output bytes than the run's budget",
        _limit("output_bytes", 17)),
    Row("over-the-budget-by-usage", "parallel", "015", "L412", 7,
        "the usage of earlier calls leaves no room for a third call",
        facts(3, usage={**NO_USAGE, "input_tokens": 20})),
    Row("over-the-agent-limit", "parallel", "015", "L412", 7, "more calls than the agent's limit",
        plan("`worker` has a limit of 2 calls",
             lambda document: document["agents"]["worker"].update(limits={"calls": 2}))),
    Row("over-the-task-budget", "parallel", "015", "L412", 2, "more tokens than the task's budget",
        plan("`b` has a budget of 9 tokens", lambda document: document["tasks"]["b"].update(budget={"tokens": 9}))),
    Row("lost-and-not-charged", "resumed", "015", "L412", 4,
        "a lost call keeps its reservation and leaves no room", _limit("tokens", 19)),
    Row("check-over-the-task-budget", "check-asked-again", "015", "L412", 3,
        "a command check exceeds the task's budget",
        facts(3, reserved={**RESERVED, "output_bytes": 19})),
)  # fmt: skip

ANSWERS = (
    Row("answered-twice", "delivered", "016", "L425", 9, "an answer is repeated", repeat(8, 9)),
    Row("answered-too-early", "delivered", "016", "L425", 7, "an answer is given before its task has ended",
        move(8, 7)),
    Row("answered-by-a-failed-task", "failed", "016", "L425", 4, "an answer comes from a failed task",
        insert(4, "answer.given", {"output": "o"}, [3], {"value": TEXT})),
    Row("answered-by-a-tolerated-task", "expanded-and-all-tolerated", "016", "L425", 14,
        "an empty list is the answer of a tolerated task with foreach",
        insert(14, "answer.given", {"output": "all"}, [13], {"value": json_body([])})),
    Row("wrong-answer-value", "delivered", "016 018", "L425", 8, "an answer is not the value of its output",
        body(8, "value", Body(b"other"))),
    Row("answer-without-its-cause", "delivered", "016", "L426", 8,
        "an answer's causes do not include the end of its task",
        members(8, causes=[6])),
    Row("answer-in-another-order", "expanded", "016 018", "L425", 14,
        "a list of outputs is not in the order of the instances",
        body(14, "value", json_body(["n1", "n0"]))),
)  # fmt: skip


def _counts(**changed: int) -> dict[str, int]:
    return {**dict.fromkeys(STATES, 0), **changed}


def _totals(seq: int, amount: str, value: int) -> Edit:
    totals = {"calls": 3, **NO_USAGE, "input_tokens": 7, "cached_input_tokens": 2, "output_tokens": 2,
              "micro_usd": 3, "output_bytes": 4, "wall_ms": 100}  # fmt: skip
    return facts(seq, totals={**totals, amount: value})


SEALS = (
    Row("sealed-before-the-end", "one-task", "017 001", "L423", 3, "a run is sealed before all tasks ended",
        drop(3)),
    Row("wrong-count", "tolerated", "017", "L420", 4, "the counts list a tolerated task as passed",
        facts(4, counts=_counts(passed=1))),
    Row("instances-in-counts", "expanded", "017", "L420", 15, "the counts include instances",
        facts(15, counts=_counts(passed=4))),
    Row("call-not-in-totals", "parallel", "017", "L421", 10, "the totals have one call too few",
        _totals(10, "calls", 2)),
    Row("totals-of-reservations", "parallel", "017", "L421", 10,
        "the totals sum reservations instead of usage", _totals(10, "input_tokens", 18)),
    Row("cached-tokens-not-in-totals", "parallel", "017", "L421", 10, "the totals omit cached tokens",
        _totals(10, "cached_input_tokens", 0)),
    Row("wrong-total-time", "parallel", "017", "L421", 10, "the totals have one millisecond too many",
        _totals(10, "wall_ms", 101)),
    Row("status-failed-without-a-failed-task", "one-task", "017", "L422", 4, "the status is failed, but no task failed",
        facts(4, status="failed")),
    Row("passed-with-a-failed-task", "failed", "017", "L422", 6, "the status is passed although a task failed",
        facts(6, status="passed")),
    Row("status-stopped-without-a-stopped-task", "failed", "017", "L422", 6,
        "the status is stopped, but no task was stopped",
        facts(6, status="stopped")),
    Row("passed-with-a-cancelled-task", "cancelled", "017", "L422", 2,
        "the status is passed although a task was cancelled",
        facts(2, status="passed")),
    Row("answer-missing", "delivered", "017", "L425", 8, "a run passes without giving an answer", drop(8)),
)  # fmt: skip


def _edge(description: str, source: dict[str, Any]) -> Edit:
    """Changes the data edge of `b` in the wave plan."""
    needs = [data_edge(source, "x")]
    return plan(f"`b` takes {description}", lambda document: document["tasks"]["b"].update(needs=needs))


def _nested(depth: int) -> Body:
    return Body(b"[" * depth + b"]" * depth, "application/json")


VALUES = (
    Row("value-not-canonical", "with-values", "018 KIND-004", "L407", 7,
        "a computed value is not in RFC 8785 form",
        body(7, "value", Body(b'[{"y":null},{"none":[],"text":"plain"}, true]', "application/json"))),
    Row("plain-body-unlike-a-salted-output", "with-values", "018", "L407", 8,
        "a plain body differs from the salted output that it delivers",
        body(8, "value", Body(b"other"))),
    Row("salted-body-unlike-its-output", "with-values", "018", "L407", 8,
        "a salted body has other bytes than the output", body(8, "value", Body(b"other", salt=SALT))),
    Row("number-in-another-form", "with-values", "018", "L407", 9, "a number is written in another form",
        body(9, "value", Body(b"1.50", "application/json"))),
    Row("value-of-a-missing-pointer", "delivered", "018", "L407", 4,
        "a pointer selects nothing, so no body is the value",
        _edge("the part `/x` of a text", {"task": "a", "select": "/x"})),
    Row("text-selected-as-a-whole", "delivered", "018", "L407", 4,
        "a text selected by the empty pointer is a JSON string",
        _edge("the part `` of a text", {"task": "a", "select": ""})),
    Row("text-in-a-list", "delivered", "018", "L407", 4, "a text in a list is a JSON string",
        _edge("a list of the text", {"list": [{"task": "a"}]})),
    Row("index-with-a-leading-zero", "with-values", "018", "L407", 9, "an index with a leading zero selects nothing",
        plan("the third value of `c` is `/0/x/00`",
             lambda document: document["tasks"]["c"]["needs"][2]["from"].update(select="/0/x/00"))),
    Row("index-beyond-the-last", "with-values", "018", "L407", 9, "an index beyond the last item selects nothing",
        plan("the third value of `c` is `/0/x/2`",
             lambda document: document["tasks"]["c"]["needs"][2]["from"].update(select="/0/x/2"))),
    Row("output-not-canonical", "with-values", "018 KIND-004", "L407", 7,
        "nothing can be selected from an output that is not in RFC 8785 form",
        body(2, "output", Body(b'{"a/b":{"~":true}, "x":[1.5,{"y":null}]}', "application/json"))),
    Row("output-with-an-integer-too-large", "with-values", "018 KIND-004", "L407", 7,
        "nothing can be selected from an output with too large an integer",
        body(2, "output", Body(b'{"a/b":{"~":true},"x":[1.5,{"y":null}],"z":9007199254740992}', "application/json"))),
    Row("output-not-utf-8", "with-values", "018 KIND-004", "L407", 7,
        "nothing can be selected from an output of type text/plain that is not UTF-8",
        body(5, "output", Body(b"plain\xff", salt=SALT))),
    Row("output-nested-too-deeply", "with-values", "018", "L407", 7,
        "nothing can be selected from an output that is nested 255 levels deep",
        body(2, "output", _nested(255))),
    Row("digest-of-a-redacted-body", "redacted-value", "018", "L425", 8,
        "two plain bodies are compared by digest although one is redacted",
        plan("the output `notes` is the output of `a`",
             lambda document: document["outputs"].update(notes={"task": "a"}))),
)  # fmt: skip

ROWS = (*ATTEMPTS, *CHECKS, *ESCALATIONS, *ENDS, *BUDGETS, *ANSWERS, *SEALS, *VALUES)

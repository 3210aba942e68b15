"""Vectors of runs: checks that fail or give no verdict, and the consequences."""

from typing import Any

from vector_generator.runs.case import (
    AGENTS,
    Case,
    Claim,
    Count,
    Fact,
    Form,
    block,
    changed,
    fact,
    prompt_text,
    workflow,
)

_TIERS: Form = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}


_WRITER: Form = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}


_TEAM: Form = {**AGENTS, "writer": _WRITER}


_CHECKED = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Give a number.",
            "output": {"type": "integer"},
            "accept": [{"schema": {"minimum": 10}}],
            "retry": {"attempts": 2},
            "escalate": ["frontier"],
        }
    },
    [
        {"attempt": 1, "output": 1, "latency": "10ms"},
        {"attempt": 2, "output": 2, "latency": "10ms"},
        {"output": 30, "latency": "10ms"},
    ],
    adapters=_TIERS,
    agents=_TEAM,
)


_REASON = "the value does not satisfy 'minimum': 10"


def _fed_back(answer: str) -> str:
    return prompt_text(
        "Give a number.",
        'Answer with one JSON value that is valid against this JSON Schema, and nothing else:\n{"type":"integer"}',
        "A previous answer was rejected. The reason and that answer follow. Correct the problem.",
        block("reason", "the check", _REASON),
        block("answer", "the previous attempt", answer),
    )


_CLIMBED: tuple[Claim, ...] = (
    Fact(
        "verdict.given", {"attempt": 1, "check": 0, "by": "schema", "verdict": "fail"}, 10, bodies={"reason": _REASON}
    ),
    fact("escalation.raised", 10, task="do", from_="cheap", to="frontier"),
    Fact("task.started", {"attempt": 2, "tier": "frontier"}, 10, bodies={"prompt": {"text": _fed_back("1")}}),
    fact("verdict.given", 20, attempt=2, verdict="fail"),
    Fact("task.started", {"attempt": 3, "tier": "frontier"}, 20, bodies={"prompt": {"text": _fed_back("2")}}),
    Count(1, "escalation.raised"),
    Count(0, "verdict.asked"),
)


_REPEATED = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Give a number.",
            "output": {"type": "integer"},
            "accept": [{"schema": {"minimum": 10}}],
            "retry": {"attempts": 3},
        }
    },
    [{"attempt": 1, "output": 1}, {"attempt": 2, "output": 2}, {"output": 30}],
)


_JUDGED = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "accept": [{"agent": "critic"}],
            "retry": {"attempts": 2, "backoff": "0ms"},
        }
    },
    [
        {"agent": "writer", "output": "done"},
        {"agent": "critic", "contains": "do it", "output": "never asked"},
        {"agent": "critic", "output": {"verdict": "pass", "reason": "good", "more": 1}},
    ],
)


_NO_VERDICT = "the answer must have `verdict` (`pass` or `fail`) and `reason` (a string)"
_NONE = Fact(
    "verdict.given",
    {"verdict": "none", "error": "schema_mismatch"},
    bodies={"reason": _NO_VERDICT, "detail": b'{"code":"no_verdict"}'},
)


def _judge(**answer: Any) -> Form:
    return changed(_JUDGED, "script", "answers", 2, to={"agent": "critic", **answer})


_COMMAND = workflow(
    {
        "do": {
            "agent": "operator",
            "run": ["make", "it"],
            "accept": [{"command": ["check", "it"]}],
            "retry": {"attempts": 2, "backoff": "2s"},
        }
    },
    [{"check": "command", "output": "all good"}, {"output": "made"}],
)


CASES: tuple[Case, ...] = (
    Case(
        "climb",
        "A result that fails a check climbs and is retried at the last step, where attempts are counted from 1",
        ("RUN-CLIMB-001", "RUN-VERDICT-001", "RUN-PROMPT-003", "RUN-READ-007"),
        _CHECKED,
        (
            *_CLIMBED,
            fact("verdict.given", 30, attempt=3, verdict="pass"),
            fact("task.ended", 30, task="do", state="passed"),
        ),
    ),
    Case(
        "climb-in-vain",
        "When the attempts of the last step are used up, the unit fails because of the verdict",
        ("RUN-CLIMB-001", "RUN-VERDICT-001", "RUN-PROMPT-003", "RUN-READ-007", "RUN-STATE-001"),
        changed(_CHECKED, "script", "answers", 2, "output", to=3),
        (
            *_CLIMBED,
            fact("verdict.given", 30, attempt=3, verdict="fail"),
            fact("task.ended", 30, task="do", state="failed", reason="verdict"),
        ),
        "failed",
        of="climb",
        change="the third number is too small, too",
    ),
    Case(
        "other-answers-other-prompts",
        "A prompt with other feedback is another prompt, so it is sent",
        ("RUN-RETRY-003", "RUN-RETRY-001"),
        _REPEATED,
        (Count(3, "task.started"), fact("task.ended", task="do", state="passed")),
    ),
    Case(
        "repeated",
        "The same answer again would give the same prompt again: the unit fails although an attempt is left",
        ("RUN-RETRY-003", "RUN-STATE-001"),
        changed(_REPEATED, "script", "answers", 1, "output", to=1),
        (Count(2, "task.started"), fact("task.ended", task="do", state="failed", reason="repeated")),
        "failed",
        of="other-answers-other-prompts",
        change="the second answer equals the first",
    ),
    Case(
        "judge-passes",
        "A judge passes a result; other members of its answer are ignored",
        ("RUN-VERDICT-001", "RUN-VERDICT-003", "RUN-VERDICT-004"),
        _JUDGED,
        (
            Fact(
                "verdict.given",
                {"by": "agent", "verdict": "pass"},
                bodies={
                    "reason": "good",
                    "reply": b'{"more":1,"reason":"good","verdict":"pass"}',
                },
            ),
            fact("task.ended", task="do", state="passed"),
        ),
    ),
    Case(
        "judge-in-a-fence",
        "A judge's answer in a code fence is accepted, like any other reply",
        ("RUN-VERDICT-003", "RUN-READ-004"),
        _judge(reply='```json\n{"verdict": "pass", "reason": "good"}\n```'),
        (Fact("verdict.given", {"verdict": "pass"}, bodies={"reason": "good"}),),
    ),
    Case(
        "judge-fails",
        "A judge fails a result: it is retried at the last step, and then the unit fails",
        ("RUN-VERDICT-003", "RUN-CLIMB-001"),
        _judge(output={"verdict": "fail", "reason": "bad"}),
        (
            Fact("verdict.given", {"attempt": 1, "verdict": "fail"}, bodies={"reason": "bad"}),
            fact("verdict.given", attempt=2, verdict="fail"),
            fact("task.ended", task="do", state="failed", reason="verdict"),
        ),
        "failed",
        of="judge-passes",
        change="the judge says no",
    ),
    Case(
        "judge-gives-no-verdict",
        "An answer without a verdict is asked for again; then the unit fails with an error",
        ("RUN-VERDICT-003", "RUN-VERDICT-004"),
        _judge(output={"verdict": "maybe", "reason": "who knows"}),
        (
            _NONE,
            _NONE,
            fact("task.ended", task="do", state="failed", reason="error"),
            Count(2, "verdict.asked"),
            Count(1, "task.started"),
        ),
        "failed",
        of="judge-passes",
        change="the judge's verdict is neither `pass` nor `fail`",
    ),
    Case(
        "judge-without-a-reason",
        "A verdict without a reason is not a verdict",
        ("RUN-VERDICT-003", "RUN-VERDICT-004"),
        _judge(output={"verdict": "pass"}),
        (_NONE,),
        "failed",
        of="judge-passes",
        change="the judge gives no reason",
    ),
    Case(
        "judge-answers-prose",
        "An answer that is not JSON is not a verdict",
        ("RUN-VERDICT-003", "RUN-VERDICT-004", "RUN-READ-007"),
        _judge(reply="It is good."),
        (
            Fact(
                "verdict.given",
                {"verdict": "none", "error": "malformed"},
                bodies={
                    "reason": "the answer is not a single JSON value, or it repeats a key",
                    "detail": b'{"code":"not_json"}',
                    "reply": b"It is good.",
                },
            ),
            Count(2, "verdict.asked"),
        ),
        "failed",
        of="judge-passes",
        change="the judge answers in prose",
    ),
    Case(
        "judge-unreachable",
        "A judge's error that is not retried fails the unit, as if the attempt had ended with it",
        ("RUN-VERDICT-004", "RUN-ERROR-001"),
        _judge(error={"kind": "auth"}),
        (
            fact("verdict.given", verdict="none", error="auth"),
            fact("task.ended", task="do", state="failed", reason="error"),
            Count(1, "verdict.asked"),
        ),
        "failed",
        of="judge-passes",
        change="the judge's adapter is not let in",
    ),
    Case(
        "command-check-passes",
        "A check by a command that ends with status 0 passes, and its output is the reason",
        ("RUN-VERDICT-002", "RUN-PROMPT-008", "RUN-BUDGET-002"),
        _COMMAND,
        (
            fact("verdict.asked", by="command", reserved={"output_bytes": 1_000_000, "output_tokens": 0}),
            Fact(
                "verdict.given",
                {"verdict": "pass"},
                actor="runner",
                bodies={"reason": "all good", "reply": b"all good"},
            ),
        ),
    ),
    Case(
        "command-check-fails",
        "A check by a command that ends with a nonzero status fails; without output, the error message is the reason",
        ("RUN-VERDICT-002", "RUN-PROMPT-008"),
        changed(
            _COMMAND,
            "script",
            "answers",
            0,
            to={
                "check": "command",
                "error": {"kind": "exit_status", "exit_status": 3, "message": "it has holes"},
            },
        ),
        (
            Fact("verdict.given", {"verdict": "fail"}, bodies={"reason": "it has holes"}, absent=("reply",)),
            fact("task.ended", task="do", state="failed", reason="verdict"),
            Count(2, "task.started"),
        ),
        "failed",
        of="command-check-passes",
        change="the command ends with status 3",
    ),
    Case(
        "command-check-error",
        "A check by a command that ends in another error gives no verdict: it is asked again after a wait",
        ("RUN-VERDICT-002", "RUN-VERDICT-004", "RUN-RETRY-002"),
        changed(_COMMAND, "script", "answers", 0, to={"check": "command", "error": {"kind": "tool_failure"}}),
        (
            fact("verdict.given", 0, verdict="none", error="tool_failure"),
            fact("verdict.given", verdict="none", error="tool_failure"),
            fact("task.ended", task="do", state="failed", reason="error"),
            Count(2, "verdict.asked"),
            Count(1, "task.started"),
        ),
        "failed",
        of="command-check-passes",
        change="the command cannot be started",
    ),
    Case(
        "command-check-not-allowed",
        "A check by a command that the policy does not allow is refused before anything runs",
        ("MANIFEST-POLICY-004", "RUN-VERDICT-002"),
        changed(_COMMAND, "policy", "allow", "commands", to=["make"]),
        (),
        None,
        ("F503",),
        of="command-check-passes",
        change="the policy allows only `make`",
    ),
)

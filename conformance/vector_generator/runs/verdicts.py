"""Run vectors: checks that fail or give no verdict, and the consequences."""

from typing import Any

from vector_generator.runs.case import (
    AGENTS,
    Case,
    Claim,
    Count,
    EntryClaim,
    ManifestPart,
    block,
    entry,
    prompt_text,
    replace,
    workflow,
)

_TIERS: ManifestPart = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}

_WRITER: ManifestPart = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}

_TEAM: ManifestPart = {**AGENTS, "writer": _WRITER}

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


def _prompt_with_feedback(answer: str) -> str:
    return prompt_text(
        "Give a number.",
        'Answer with one JSON value that is valid against this JSON Schema, and nothing else:\n{"type":"integer"}',
        "A previous answer was rejected. The reason and that answer follow. Correct the problem.",
        block("reason", "the check", _REASON),
        block("answer", "the previous attempt", answer),
    )


_ESCALATION_CLAIMS: tuple[Claim, ...] = (
    EntryClaim(
        "verdict.given", {"attempt": 1, "check": 0, "by": "schema", "verdict": "fail"}, 10, bodies={"reason": _REASON}
    ),
    entry("escalation.raised", 10, task="do", from_="cheap", to="frontier"),
    EntryClaim(
        "task.started", {"attempt": 2, "tier": "frontier"}, 10, bodies={"prompt": {"text": _prompt_with_feedback("1")}}
    ),
    entry("verdict.given", 20, attempt=2, verdict="fail"),
    EntryClaim(
        "task.started", {"attempt": 3, "tier": "frontier"}, 20, bodies={"prompt": {"text": _prompt_with_feedback("2")}}
    ),
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
_NO_VERDICT_CLAIM = EntryClaim(
    "verdict.given",
    {"verdict": "none", "error": "schema_mismatch"},
    bodies={"reason": _NO_VERDICT, "detail": b'{"code":"no_verdict"}'},
)


def _with_judge_answer(**answer: Any) -> ManifestPart:
    return replace(_JUDGED, "script", "answers", 2, to={"agent": "critic", **answer})


_COMMAND_CHECK = workflow(
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
        "escalation-by-a-verdict",
        "A task whose check fails escalates; at the last tier it is retried, with attempts counted from 1",
        ("RUN-CLIMB-001", "RUN-VERDICT-001", "RUN-PROMPT-003", "RUN-READ-007"),
        _CHECKED,
        (
            *_ESCALATION_CLAIMS,
            entry("verdict.given", 30, attempt=3, verdict="pass"),
            entry("task.ended", 30, task="do", state="passed"),
        ),
    ),
    Case(
        "escalation-by-a-verdict-and-failed",
        "After the last attempt at the last tier, the task fails because of the verdict",
        ("RUN-CLIMB-001", "RUN-VERDICT-001", "RUN-PROMPT-003", "RUN-READ-007", "RUN-STATE-001"),
        replace(_CHECKED, "script", "answers", 2, "output", to=3),
        (
            *_ESCALATION_CLAIMS,
            entry("verdict.given", 30, attempt=3, verdict="fail"),
            entry("task.ended", 30, task="do", state="failed", reason="verdict"),
        ),
        "failed",
        derived_from="escalation-by-a-verdict",
        change="the third number is too small too",
    ),
    Case(
        "different-answers-different-prompts",
        "A prompt with different feedback is a different prompt, so it is sent",
        ("RUN-RETRY-003", "RUN-RETRY-001"),
        _REPEATED,
        (Count(3, "task.started"), entry("task.ended", task="do", state="passed")),
    ),
    Case(
        "repeated-answer",
        "The same answer would lead to the same prompt, so the task fails although an attempt is left",
        ("RUN-RETRY-003", "RUN-STATE-001"),
        replace(_REPEATED, "script", "answers", 1, "output", to=1),
        (Count(2, "task.started"), entry("task.ended", task="do", state="failed", reason="repeated")),
        "failed",
        derived_from="different-answers-different-prompts",
        change="the second answer equals the first",
    ),
    Case(
        "judge-passes",
        "A judge passes a result; other members of its answer are ignored",
        ("RUN-VERDICT-001", "RUN-VERDICT-003", "RUN-VERDICT-004"),
        _JUDGED,
        (
            EntryClaim(
                "verdict.given",
                {"by": "agent", "verdict": "pass"},
                bodies={
                    "reason": "good",
                    "reply": b'{"more":1,"reason":"good","verdict":"pass"}',
                },
            ),
            entry("task.ended", task="do", state="passed"),
        ),
    ),
    Case(
        "judge-in-a-fence",
        "A judge's answer in a code fence is accepted, like any other reply",
        ("RUN-VERDICT-003", "RUN-READ-004"),
        _with_judge_answer(reply='```json\n{"verdict": "pass", "reason": "good"}\n```'),
        (EntryClaim("verdict.given", {"verdict": "pass"}, bodies={"reason": "good"}),),
    ),
    Case(
        "judge-fails",
        "If a judge fails a result, the task is retried once and then fails",
        ("RUN-VERDICT-003", "RUN-CLIMB-001"),
        _with_judge_answer(output={"verdict": "fail", "reason": "bad"}),
        (
            EntryClaim("verdict.given", {"attempt": 1, "verdict": "fail"}, bodies={"reason": "bad"}),
            entry("verdict.given", attempt=2, verdict="fail"),
            entry("task.ended", task="do", state="failed", reason="verdict"),
        ),
        "failed",
        derived_from="judge-passes",
        change="the judge returns `fail`",
    ),
    Case(
        "judge-gives-no-verdict",
        "If a judge's answer has no verdict, the judge is asked again, and then the task fails with an error",
        ("RUN-VERDICT-003", "RUN-VERDICT-004"),
        _with_judge_answer(output={"verdict": "maybe", "reason": "who knows"}),
        (
            _NO_VERDICT_CLAIM,
            _NO_VERDICT_CLAIM,
            entry("task.ended", task="do", state="failed", reason="error"),
            Count(2, "verdict.asked"),
            Count(1, "task.started"),
        ),
        "failed",
        derived_from="judge-passes",
        change="the judge's verdict is neither `pass` nor `fail`",
    ),
    Case(
        "judge-without-a-reason",
        "A verdict without a reason is not a verdict",
        ("RUN-VERDICT-003", "RUN-VERDICT-004"),
        _with_judge_answer(output={"verdict": "pass"}),
        (_NO_VERDICT_CLAIM,),
        "failed",
        derived_from="judge-passes",
        change="the judge gives no reason",
    ),
    Case(
        "judge-answers-prose",
        "An answer that is not JSON is not a verdict",
        ("RUN-VERDICT-003", "RUN-VERDICT-004", "RUN-READ-007"),
        _with_judge_answer(reply="It is good."),
        (
            EntryClaim(
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
        derived_from="judge-passes",
        change="the judge answers in prose",
    ),
    Case(
        "judge-unreachable",
        "If a judge's call fails with an error that is not retried, the task fails",
        ("RUN-VERDICT-004", "RUN-ERROR-001"),
        _with_judge_answer(error={"kind": "auth"}),
        (
            entry("verdict.given", verdict="none", error="auth"),
            entry("task.ended", task="do", state="failed", reason="error"),
            Count(1, "verdict.asked"),
        ),
        "failed",
        derived_from="judge-passes",
        change="the judge's call fails with `auth`",
    ),
    Case(
        "command-check-passes",
        "A command check that exits with 0 passes, and its output is the reason",
        ("RUN-VERDICT-002", "RUN-PROMPT-008", "RUN-BUDGET-002"),
        _COMMAND_CHECK,
        (
            entry("verdict.asked", by="command", reserved={"output_bytes": 1_000_000, "output_tokens": 0}),
            EntryClaim(
                "verdict.given",
                {"verdict": "pass"},
                actor="runner",
                bodies={"reason": "all good", "reply": b"all good"},
            ),
        ),
    ),
    Case(
        "command-check-fails",
        "A command check that exits with a nonzero status fails; without output, the error message is the reason",
        ("RUN-VERDICT-002", "RUN-PROMPT-008"),
        replace(
            _COMMAND_CHECK,
            "script",
            "answers",
            0,
            to={
                "check": "command",
                "error": {"kind": "exit_status", "exit_status": 3, "message": "it has holes"},
            },
        ),
        (
            EntryClaim("verdict.given", {"verdict": "fail"}, bodies={"reason": "it has holes"}, absent=("reply",)),
            entry("task.ended", task="do", state="failed", reason="verdict"),
            Count(2, "task.started"),
        ),
        "failed",
        derived_from="command-check-passes",
        change="the command exits with 3",
    ),
    Case(
        "command-check-error",
        "A command check that fails with another error gives no verdict and is asked again after a backoff",
        ("RUN-VERDICT-002", "RUN-VERDICT-004", "RUN-RETRY-002"),
        replace(_COMMAND_CHECK, "script", "answers", 0, to={"check": "command", "error": {"kind": "tool_failure"}}),
        (
            entry("verdict.given", 0, verdict="none", error="tool_failure"),
            entry("verdict.given", verdict="none", error="tool_failure"),
            entry("task.ended", task="do", state="failed", reason="error"),
            Count(2, "verdict.asked"),
            Count(1, "task.started"),
        ),
        "failed",
        derived_from="command-check-passes",
        change="the command cannot be started",
    ),
    Case(
        "command-check-not-allowed",
        "A run with a command check that the policy does not allow is refused before anything runs",
        ("MANIFEST-POLICY-004", "RUN-VERDICT-002"),
        replace(_COMMAND_CHECK, "policy", "allow", "commands", to=["make"]),
        (),
        None,
        ("F503",),
        derived_from="command-check-passes",
        change="the policy allows only `make`",
    ),
)

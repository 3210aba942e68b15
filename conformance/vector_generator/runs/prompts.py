"""Run vectors: routing, texts, and the input of models, programs and judges."""

from typing import Any

from vector_generator.runs.case import (
    ADAPTERS,
    AGENTS,
    DATA_NOTICE,
    RUN_ID,
    Case,
    Count,
    EntryClaim,
    ManifestPart,
    answer_with,
    block,
    entry,
    prompt_text,
    replace,
    workflow,
)

FEEDBACK_NOTICE = "A previous answer was rejected. The reason and that answer follow. Correct the problem."
VERDICT = (
    '{"additionalProperties":false,"properties":{"reason":{"type":"string"},"verdict":{"enum":["pass","fail"]}},'
    '"required":["verdict","reason"],"type":"object"}'
)
JUDGE = (
    "Judge whether a result meets its criteria. Assess each criterion separately. The verdict is `pass` only if the "
    "result meets every criterion; otherwise it is `fail`. In `reason`, explain the verdict in a few sentences and "
    "point to the relevant parts of the result."
)

_TEAM: ManifestPart = {
    "cook": {"adapter": "model", "domain": "food", "keywords": ["Soup", "bread"]},
    "baker": {"adapter": "model", "domain": "bread"},
    "operator": {"adapter": "shell"},
}
_ROUTED = workflow(
    {"do": {"lane": "auto", "instruction": "Make SOUP, and bread_rolls with bread, for ${{ inputs.food }}."}},
    [{"agent": "cook", "output": "soup"}, {"output": "bread"}],
    agents=_TEAM,
    inputs={"food": {"type": "string"}},
    input_values={"food": "two"},
)
_ONE_CANDIDATE = replace(
    replace(_ROUTED, "roster", "agents", "baker", "adapter", to="shell"),
    "plan", "tasks", "do", "instruction", to="Do what you like.",
)  # fmt: skip


def _prompt(task: str, attempt: int = 1, **prompt: Any) -> EntryClaim:
    return EntryClaim("task.started", {"task": task, "attempt": attempt}, bodies={"prompt": prompt})


_PERSONA = {"adapter": "model", "persona": "You write plainly."}
_FULL_PROMPT = workflow(
    {
        "facts": {"agent": "operator", "run": ["make", "facts"], "output": {"type": "object"}},
        "draft": {
            "agent": "writer",
            "instruction": "Draft it from ${{ needs.facts }}, in run ${{ run.id }}.",
            "needs": ["facts"],
            "output": {"type": "object", "required": ["title"]},
            "done_when": ["it has a title", "${{ needs.facts }} is used"],
            "retry": {"attempts": 2},
        },
    },
    [
        {"task": "facts", "output": {"b": 1, "a": [True, None]}},
        {"task": "draft", "attempt": 1, "output": {"name": "x"}},
        {"task": "draft", "output": {"title": "y"}},
    ],
    agents={**AGENTS, "writer": _PERSONA},
    outputs={"title": {"task": "draft", "select": "/title"}},
)
_FACTS_JSON = '{"a":[true,null],"b":1}'
_REASON = "the answer does not match the output schema: the value does not satisfy 'required': [\"title\"]"

_FULL_TEXT = prompt_text(
    f"Draft it from [data: facts], in run {RUN_ID}.",
    DATA_NOTICE,
    block("facts", "facts", _FACTS_JSON),
    answer_with('{"required":["title"],"type":"object"}'),
    "The result is accepted if:\n- it has a title\n- [data: facts] is used",
)
_FULL_FEEDBACK = prompt_text(
    _FULL_TEXT,
    FEEDBACK_NOTICE,
    block("reason", "the check", _REASON),
    block("answer", "the previous attempt", '{"name":"x"}'),
)


def _program(stdin: str, task: ManifestPart) -> ManifestPart:
    adapters = {**ADAPTERS, "shell": {"type": "command", "stdin": stdin}}
    adapters["cli"] = {"type": "command", "argv": ["check", "--model"], "stdin": stdin}
    agents = {**AGENTS, "cli": {"adapter": "cli", "persona": "You are terse."}}
    tasks = {"log": {"agent": "operator", "run": ["make", "log"]}, "use": {**task, "needs": ["log"]}}
    answers: list[ManifestPart] = [{"task": "log", "output": "a <b>\nc"}, {"output": "used"}]
    return workflow(tasks, answers, adapters=adapters, agents=agents)


_BLOCK = block("log", "log", "a <b>\nc")
_WITH_INSTRUCTION: ManifestPart = {
    "agent": "operator",
    "run": ["make", "use", "${{ needs.log }}"],
    "instruction": "Use ${{ needs.log }}.",
}
_WITHOUT_INSTRUCTION: ManifestPart = {"agent": "operator", "run": ["make", "use"]}
_WITH_ARGV: ManifestPart = {"agent": "cli", "instruction": "Use ${{ needs.log }}.", "done_when": ["it is used"]}
_WITH_ARGV_TEXT = prompt_text(
    "You are terse.", "Use [data: log].", DATA_NOTICE, _BLOCK, "The result is accepted if:\n- it is used"
)


_WITH_INSTRUCTION_JSON = (
    '{"attempt":1,"instruction":"Use [data: log].","needs":{"log":"a <b>\\nc"},"run":"' + RUN_ID + '","task":"use"}'
)
_WITH_ARGV_JSON = (
    '{"attempt":1,"done_when":["it is used"],"instruction":"Use [data: log].","needs":{"log":"a <b>\\nc"},'
    '"persona":"You are terse.","run":"' + RUN_ID + '","task":"use"}'
)


def _stdin_cases() -> list[Case]:
    inputs: dict[tuple[str, str], str] = {
        ("with-instruction", "none"): "",
        ("with-instruction", "text"): prompt_text("Use a <b>\nc.", _BLOCK),
        ("with-instruction", "json"): _WITH_INSTRUCTION_JSON,
        ("without-instruction", "text"): "a <b>\nc",
        ("with-argv", "none"): "",
        ("with-argv", "text"): _WITH_ARGV_TEXT,
        ("with-argv", "json"): _WITH_ARGV_JSON,
    }
    tasks = {
        "with-instruction": _WITH_INSTRUCTION,
        "without-instruction": _WITHOUT_INSTRUCTION,
        "with-argv": _WITH_ARGV,
    }
    argv = {
        "with-instruction": ["make", "use", "a <b>\nc"],
        "without-instruction": ["make", "use"],
        "with-argv": ["check", "--model"],
    }
    descriptions = {
        "with-instruction": "a program with an instruction",
        "without-instruction": "a program without an instruction",
        "with-argv": "a program with a fixed `argv`",
    }
    cases = []
    for (name, stdin), text in inputs.items():
        flow = _program(stdin, tasks[name])
        prompt = {"argv": argv[name], "stdin": text}
        requirements = ["RUN-PROMPT-009", "RUN-PROMPT-006" if name == "with-argv" else "RUN-PROMPT-004", "RUN-TEXT-001"]
        cases.append(
            Case(
                f"stdin-{stdin}-{name}",
                f"`stdin: {stdin}`: the input of {descriptions[name]}",
                (*requirements, *(("RUN-PROMPT-005",) if stdin == "json" else ())),
                flow,
                (EntryClaim("task.started", {"task": "use"}, bodies={"prompt": prompt}),),
            )
        )
        if (name, stdin) in (("with-instruction", "text"), ("with-argv", "text"), ("with-instruction", "json")):
            cases.append(
                Case(
                    f"stdin-{stdin}-{name}-and-failed",
                    f"`stdin: {stdin}`: {descriptions[name]} fails with the same input",
                    (*requirements, *(("RUN-PROMPT-005",) if stdin == "json" else ())),
                    replace(flow, "script", "answers", 1, to={"error": {"kind": "exit_status"}}),
                    (
                        EntryClaim("task.started", {"task": "use"}, bodies={"prompt": prompt}),
                        entry("task.ended", task="use", state="failed", reason="error"),
                    ),
                    "failed",
                    derived_from=f"stdin-{stdin}-{name}",
                    change="the program exits with 1",
                )
            )
    return cases


_JUDGED = workflow(
    {
        "draft": {
            "agent": "writer",
            "instruction": "Write a title.",
            "done_when": ["it is short"],
            "accept": [{"command": ["check", "${{ inputs.mode }}"]}, {"agent": "critic"}],
        }
    },
    [
        {"task": "draft", "agent": "critic", "output": {"verdict": "pass", "reason": "it is short"}},
        {"task": "draft", "check": "command", "output": "fine"},
        {"task": "draft", "output": "Title"},
    ],
    agents={**AGENTS, "critic": {"adapter": "model", "persona": "You are strict."}},
    inputs={"mode": {"type": "string", "default": "all"}},
)
_JUDGE_TEXT = prompt_text(
    JUDGE,
    "Criteria:\n- it is short",
    DATA_NOTICE,
    block("instruction", "the plan", "Write a title."),
    block("result", "draft", "Title"),
    answer_with(VERDICT),
)

CASES: tuple[Case, ...] = (
    Case(
        "route-by-keywords",
        "The agent with the most keywords among the instruction's words is chosen; input values are ignored",
        ("RUN-ROUTE-001", "RUN-ROUTE-002", "RUN-ORDER-004"),
        _ROUTED,
        (
            EntryClaim(
                "route.decided",
                {"task": "do", "agent": "cook", "by": "keywords"},
                bodies={
                    "scores": b'{"baker":["bread"],"cook":["bread","soup"]}',
                },
            ),
            entry("task.started", task="do", agent="cook"),
            entry("task.ended", task="do", state="passed"),
        ),
    ),
    Case(
        "route-by-name",
        "Of agents with equally many keywords, the first by name is chosen",
        ("RUN-ROUTE-001", "RUN-ROUTE-002"),
        replace(_ROUTED, "plan", "tasks", "do", "instruction", to="Make bread."),
        (
            EntryClaim(
                "route.decided",
                {"task": "do", "agent": "baker", "by": "keywords"},
                bodies={
                    "scores": b'{"baker":["bread"],"cook":["bread"]}',
                },
            ),
            entry("task.started", task="do", agent="baker"),
        ),
    ),
    Case(
        "route-to-the-only-agent",
        "If only one agent accepts instructions, it is chosen",
        ("RUN-ROUTE-002",),
        _ONE_CANDIDATE,
        (EntryClaim("route.decided", {"agent": "cook", "by": "only"}, bodies={"scores": b'{"cook":[]}'}),),
    ),
    Case(
        "route-to-a-failing-agent",
        "If the routed agent fails, no other agent is asked",
        ("RUN-ROUTE-001", "RUN-ROUTE-002"),
        replace(_ROUTED, "script", "answers", 0, to={"agent": "cook", "error": {"kind": "auth"}}),
        (
            entry("route.decided", task="do", agent="cook", by="keywords"),
            entry("task.finished", task="do", error="auth"),
            entry("task.ended", task="do", state="failed", reason="error"),
            Count(1, "task.started"),
        ),
        "failed",
        derived_from="route-by-keywords",
        change="the call of `cook` fails with `auth`",
    ),
    Case(
        "route-without-an-agent",
        "A lane that no agent can take is refused before anything runs",
        ("RUN-ROUTE-002",),
        replace(_ONE_CANDIDATE, "roster", "agents", "cook", "adapter", to="shell"),
        (),
        None,
        ("F316",),
        derived_from="route-to-the-only-agent",
        change="the only agent that accepts instructions uses a command adapter",
    ),
    Case(
        "prompt-of-a-model",
        "A model's prompt contains the instruction, the data, the schema and the criteria, then the feedback",
        ("RUN-PROMPT-001", "RUN-PROMPT-002", "RUN-PROMPT-003", "RUN-PROMPT-009", "RUN-TEXT-001"),
        _FULL_PROMPT,
        (
            _prompt("draft", system="You write plainly.", text=_FULL_TEXT),
            entry("task.finished", task="draft", attempt=1, error="schema_mismatch"),
            _prompt("draft", 2, system="You write plainly.", text=_FULL_FEEDBACK),
            entry("task.ended", task="draft", state="passed"),
        ),
    ),
    Case(
        "prompt-of-a-model-that-fails-again",
        "If the last attempt fails, the task fails without further feedback",
        ("RUN-PROMPT-001", "RUN-PROMPT-003", "RUN-PROMPT-009", "RUN-TEXT-001"),
        replace(_FULL_PROMPT, "script", "answers", 2, "output", to={"name": "y"}),
        (
            _prompt("draft", 2, system="You write plainly.", text=_FULL_FEEDBACK),
            entry("task.finished", task="draft", attempt=2, error="schema_mismatch"),
            entry("task.ended", task="draft", state="failed", reason="error"),
            Count(0, "answer.given"),
        ),
        "failed",
        derived_from="prompt-of-a-model",
        change="the second answer has no title either",
    ),
    *_stdin_cases(),
    Case(
        "prompts-of-checks",
        "A judge gets the criteria, the instruction and the result; a command gets the result on its standard input",
        ("RUN-PROMPT-007", "RUN-PROMPT-008", "RUN-VERDICT-001", "RUN-VERDICT-002", "RUN-VERDICT-003"),
        _JUDGED,
        (
            EntryClaim(
                "verdict.asked",
                {"check": 0, "by": "command"},
                bodies={
                    "prompt": {"argv": ["check", "all"], "stdin": "Title"},
                },
            ),
            EntryClaim("verdict.given", {"check": 0, "verdict": "pass"}, actor="runner", bodies={"reason": "fine"}),
            EntryClaim(
                "verdict.asked",
                {"check": 1, "by": "agent", "agent": "critic"},
                bodies={
                    "prompt": {"system": "You are strict.", "text": _JUDGE_TEXT},
                },
            ),
            EntryClaim(
                "verdict.given", {"check": 1, "verdict": "pass"}, actor="agent:critic", bodies={"reason": "it is short"}
            ),
            entry("task.ended", task="draft", state="passed"),
        ),
    ),
    Case(
        "prompts-of-checks-and-the-judge-fails",
        "A task whose result is rejected by its judge fails",
        ("RUN-PROMPT-007", "RUN-PROMPT-008", "RUN-VERDICT-003"),
        replace(_JUDGED, "script", "answers", 0, "output", "verdict", to="fail"),
        (
            EntryClaim("verdict.asked", {"check": 1}, bodies={"prompt": {"text": _JUDGE_TEXT}}),
            entry("verdict.given", check=1, verdict="fail"),
            entry("task.ended", task="draft", state="failed", reason="verdict"),
        ),
        "failed",
        derived_from="prompts-of-checks",
        change="the judge returns `fail`",
    ),
    Case(
        "prompts-of-checks-and-the-command-fails",
        "After a failed check, no other check is asked",
        ("RUN-PROMPT-008", "RUN-VERDICT-001", "RUN-VERDICT-002"),
        replace(
            _JUDGED,
            "script",
            "answers",
            1,
            to={
                "task": "draft",
                "check": "command",
                "error": {"kind": "exit_status", "message": "too long"},
            },
        ),
        (
            EntryClaim("verdict.asked", {"check": 0}, bodies={"prompt": {"argv": ["check", "all"], "stdin": "Title"}}),
            EntryClaim("verdict.given", {"check": 0, "verdict": "fail"}, bodies={"reason": "too long"}),
            entry("task.ended", task="draft", state="failed", reason="verdict"),
            Count(1, "verdict.asked"),
        ),
        "failed",
        derived_from="prompts-of-checks",
        change="the command exits with 1",
    ),
)

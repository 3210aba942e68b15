"""A call gets the first answer that matches it. Without a match, the failure explains why."""

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import compile_files, finding_codes, plan_manifest, workflow
from forum_adapters.base import Adapter, Attempt, ErrorKind, Failure, Limits, Predictable, Prompt, Reply, Usage
from forum_adapters.script import matching_names
from forum_adapters.scripted import Script, ScriptedAdapter

LIMITS = Limits(timeout_ms=600_000, max_output_bytes=1_000_000)


def call(task: str = "draft", prompt: Prompt | None = None, **fields: Any) -> Attempt:
    defaults: dict[str, Any] = {"number": 1, "agent": "writer", "settings": {}, "limits": LIMITS}
    return Attempt(
        id="a1", run="r", task=task, adapter="model", prompt=prompt or Prompt(text="Write."), **(defaults | fields)
    )


def scripted_adapter(*answers: Mapping[str, Any]) -> ScriptedAdapter:
    return ScriptedAdapter("model", {"type": "scripted", "answers": list(answers)})


def reply(attempt: Attempt, *answers: Mapping[str, Any]) -> Reply:
    return scripted_adapter(*answers).predict(attempt)[0]


def failure_message(attempt: Attempt, *answers: Mapping[str, Any]) -> str:
    failure = reply(attempt, *answers).failure
    assert failure is not None
    assert failure.kind is ErrorKind.INVALID_REQUEST
    return failure.message


def test_the_scripted_adapter_is_predictable() -> None:
    scripted = scripted_adapter()

    assert isinstance(scripted, Adapter)
    assert isinstance(scripted, Predictable)
    assert asyncio.run(scripted.probe()) is None
    asyncio.run(scripted.close())


@pytest.mark.parametrize(
    ("condition", "attempt"),
    [
        ({"task": "draft"}, call("other")),
        ({"agent": "writer"}, call(agent="critic")),
        ({"agent": "writer"}, call(agent=None)),
        ({"attempt": 1}, call(number=2)),
        ({"contains": "Write"}, call(prompt=Prompt(text="Read.", system="Read.", argv=("cat",), stdin=b"Read."))),
        ({"check": "command"}, call(check=0)),
    ],
)
def test_an_answer_matches_only_if_all_its_conditions_hold(condition: dict[str, Any], attempt: Attempt) -> None:
    answers = ({"output": "first", **condition}, {"output": "second"})

    assert reply(attempt, *answers).content == b"second"


def test_the_first_matching_answer_wins_whatever_it_names() -> None:
    answers = [{"output": "any"}, {"task": "draft", "output": "last name"}, {"task": "a/draft", "output": "id"}]

    assert [reply(call("a/draft"), *answers[skipped:]).content for skipped in range(3)] == [b"any", b"last name", b"id"]
    assert reply(call("a/draft"), *reversed(answers)).content == b"id"


@pytest.mark.parametrize(
    "prompt",
    [
        Prompt(system="before 1.2.0 after"),
        Prompt(text="1.2.0"),
        Prompt(argv=("git", "tag", "v1.2.0")),
        Prompt(stdin=b"\xff 1.2.0"),
    ],
)
def test_contains_searches_every_part_of_the_prompt(prompt: Prompt) -> None:
    assert scripted_adapter({"contains": "1.2.0", "output": "x"}).predict(call(prompt=prompt))[0].failure is None


def test_contains_does_not_match_across_two_arguments() -> None:
    attempt = call(prompt=Prompt(argv=("a", "b")))

    assert "a prompt that contains 'ab'" in failure_message(attempt, {"contains": "ab", "output": "x"})


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_a_reply_is_returned_unchanged(schema: Any) -> None:
    prompt = Prompt(text="Write.", output_schema=schema)

    result = reply(call(prompt=prompt), {"reply": '```json\n{"a": 1.0}\n```\n'})

    assert (result.content, result.failure) == (b'```json\n{"a": 1.0}\n```\n', None)


@pytest.mark.requirement("MANIFEST-SCRIPT-002")
def test_command_checks_have_their_own_answers() -> None:
    answers = ({"output": "work"}, {"check": "command", "output": "checked"})

    assert reply(call(agent=None, check=0), *answers).content == b"checked"
    assert reply(call(agent="critic", check=1), *answers).content == b"work"
    assert reply(call(), *answers).content == b"work"
    assert reply(call(agent=None), *answers).content == b"work"


@pytest.mark.requirement("MANIFEST-SCRIPT-002")
def test_the_compiler_accepts_only_command_checks() -> None:
    plan = {"tasks": {"work": {"agent": "operator", "run": ["true"]}}}

    def codes_for(check: str) -> list[str]:
        answers = [{"task": "work", "check": check, "output": "x"}]
        return finding_codes({"workflow.yaml": workflow(plan, script={"answers": answers})})

    assert (codes_for("command"), codes_for("agent")) == ([], ["F204"])


@pytest.mark.requirement("MANIFEST-SCRIPT-001")
def test_every_task_name_that_the_compiler_accepts_matches_a_task() -> None:
    work = {"agent": "operator", "run": ["true"]}
    listed = work | {"output": {"type": "array"}}
    each = work | {"foreach": {"task": "listed", "as": "x", "max": 2}}
    inner = {"listed": listed, "each": each, "one": work | {"matrix": {"n": [1, "a/b"]}}}
    used = {"uses": "inner.yaml", "matrix": {"lang": ["de", "x]["]}}
    plan = {"tasks": {**inner, "outer": used, "plain": {"uses": "inner.yaml"}}}
    files = {"inner.yaml": plan_manifest(tasks=inner)}

    def accepts(name: str) -> bool:
        script = {"answers": [{"task": name, "output": "x"}]}
        return finding_codes(files | {"workflow.yaml": workflow(plan, script=script)}) == []

    wave_plan = compile_files(files | {"workflow.yaml": workflow(plan)}).wave_plan
    assert wave_plan is not None
    suffixes_by_id = {id_: ["[0]", "[1]"] if "foreach" in task else [""] for id_, task in wave_plan["tasks"].items()}
    units = [id_ + suffix for id_, suffixes in suffixes_by_id.items() for suffix in suffixes]
    prefixes = ("", "outer/", "outer[lang=de]/", "outer[lang=x%5D%5B]/", "outer[lang=fr]/", "plain/", "plain[1]/")
    names = map("".join, product(prefixes, inner, ("", "[0]", "[01]", "[n=1]", "[n=a%2Fb]", "[n=2]", "[")))

    accepted = [name for name in names if accepts(name)]
    unmatched = [name for name in accepted if all(Script([{"task": name}]).first(call(unit)) is None for unit in units)]

    assert {"one", "plain/one[n=1]", "outer/each", "outer[lang=x%5D%5B]/each[01]"} <= set(accepted)
    assert unmatched == []


def test_a_nested_instance_matches_its_id_and_its_shorter_names() -> None:
    names = {"a[x=1]/b[2]", "a[x=1]/b", "a/b[2]", "a/b", "b[2]", "b"}

    assert set(matching_names("a[x=1]/b[2]")) == names
    assert matching_names("a/b") == ("a/b", "b")
    assert matching_names("b") == ("b",)


TASKS = [
    "".join(parts) for parts in product(("", "a/", "a[x=1]/", "b/"), ("a", "b"), ("", "[0]", "[1]", "[x=1]", "[x=2]"))
]
TEXTS = ["one", "two", "one two"]
ANSWERS = st.lists(
    st.fixed_dictionaries(
        {"output": st.integers()},
        optional={
            "task": st.sampled_from(TASKS),
            "agent": st.sampled_from(["writer", "critic"]),
            "attempt": st.integers(1, 2),
            "contains": st.sampled_from(TEXTS),
            "check": st.just("command"),
        },
    ),
    max_size=12,
)
CALLS = st.builds(
    call,
    st.sampled_from(TASKS),
    st.builds(
        lambda system, stdin: Prompt(system, stdin=stdin), st.sampled_from(TEXTS), st.sampled_from([b"", b"two"])
    ),
    number=st.integers(1, 2),
    agent=st.sampled_from(["writer", "critic", None]),
    check=st.sampled_from([None, 0]),
)


def is_called(task: str, name: str) -> bool:
    """Whether an answer for `name` applies to a task, which may be an instance. Follows the specification literally."""
    head, bracket, number = task.rpartition("[")
    numbers = ["", f"[{number}"] if bracket and number[:-1].isdigit() else [""]
    id_ = head if len(numbers) > 1 else task
    plain_id = "/".join(part.partition("[")[0] for part in id_.split("/"))
    return name in {
        base + end for end in numbers for base in (id_, plain_id, id_.split("/")[-1], plain_id.split("/")[-1])
    }


def scan(answers: Sequence[Mapping[str, Any]], attempt: Attempt) -> int | None:
    """Return the number of the first matching answer, found by a scan over all answers."""
    prompt = attempt.prompt
    texts = [prompt.system, prompt.text, *prompt.argv, prompt.stdin.decode(errors="replace")]
    for number, answer in enumerate(answers, 1):
        if (
            ("task" not in answer or is_called(attempt.task, answer["task"]))
            and answer.get("agent", attempt.agent) == attempt.agent
            and answer.get("attempt", attempt.number) == attempt.number
            and any(answer.get("contains", "") in text for text in texts)
            and ("check" in answer) == (attempt.check is not None and attempt.agent is None)
        ):
            return number
    return None


@given(ANSWERS, CALLS)
def test_the_index_finds_the_same_answer_as_a_scan(answers: list[dict[str, Any]], attempt: Attempt) -> None:
    answer = Script(answers).first(attempt)

    assert (answer and answer.number) == scan(answers, attempt)


@pytest.mark.parametrize(
    ("output", "as_text", "as_json"),
    [
        ("Größe", "Größe", '"Größe"'),
        ("[1]", "[1]", '"[1]"'),
        ("", "", '""'),
        ({"b": [1, 1.5, None], "a": "ö"}, '{"a":"ö","b":[1,1.5,null]}', '{"a":"ö","b":[1,1.5,null]}'),
        (None, "null", "null"),
    ],
)
def test_text_without_a_schema_is_returned_unchanged_and_any_other_output_as_json(
    output: Any, as_text: str, as_json: str
) -> None:
    scripted = scripted_adapter({"output": output})
    schemas: list[Any] = [None, True, {}, None]

    replies = [scripted.predict(call(prompt=Prompt(output_schema=schema)))[0] for schema in schemas]

    assert replies == [Reply(text.encode()) for text in (as_text, as_json, as_json, as_text)]


def test_an_answer_for_a_program_has_exit_status_0() -> None:
    assert reply(call(prompt=Prompt(argv=("git", "log"))), {"output": "x"}) == Reply(b"x", exit_status=0)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"kind": "auth"}, Reply(failure=Failure(ErrorKind.AUTH))),
        ({"kind": "exit_status"}, Reply(failure=Failure(ErrorKind.EXIT_STATUS), exit_status=1)),
        ({"kind": "exit_status", "exit_status": 3}, Reply(failure=Failure(ErrorKind.EXIT_STATUS), exit_status=3)),
        ({"kind": "exit_status", "exit_status": 0}, Reply(failure=Failure(ErrorKind.EXIT_STATUS), exit_status=0)),
        (
            {"kind": "rate_limited", "message": "slow down", "retry_after": "2s", "x-note": "busy"},
            Reply(failure=Failure(ErrorKind.RATE_LIMITED, "slow down", 2_000)),
        ),
    ],
)
def test_an_error_is_a_failure_without_content(error: dict[str, Any], expected: Reply) -> None:
    assert reply(call(prompt=Prompt(argv=("git",))), {"error": error}) == expected


def test_usage_comes_from_the_script_or_is_absent() -> None:
    usage = {"input_tokens": 5, "output_tokens": 2, "x-note": "cheap"}

    assert reply(call(), {"output": "x", "usage": usage}).usage == Usage(5, 0, 2)
    assert reply(call(), {"output": "x", "usage": usage | {"cached_input_tokens": 3}}).usage == Usage(5, 3, 2)
    assert reply(call(), {"error": {"kind": "malformed"}, "usage": usage}).usage == Usage(5, 0, 2)
    assert reply(call(), {"output": "x"}).usage is None


@pytest.mark.requirement("MANIFEST-UNIT-001")
def test_latencies_are_converted_to_milliseconds() -> None:
    spans = {"0s": 0, "200ms": 200, "2s": 2_000, "1m": 60_000, "1h": 3_600_000, "1d": 86_400_000}
    attempt = call(limits=Limits(timeout_ms=100_000_000, max_output_bytes=1))

    assert {span: scripted_adapter({"output": "", "latency": span}).predict(attempt)[1] for span in spans} == spans
    assert scripted_adapter({"output": ""}).predict(attempt)[1] == 0


def test_an_answer_is_delayed_by_its_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    slow, quick = (
        asyncio.run(scripted_adapter(answer).answer(call()))
        for answer in ({"output": "x", "latency": "200ms"}, {"output": "x"})
    )

    assert (slow, quick, slept) == (Reply(b"x"), Reply(b"x"), [0.2])


def test_a_latency_that_exceeds_the_timeout_is_a_timeout() -> None:
    attempt = call(limits=Limits(timeout_ms=1_000, max_output_bytes=10))
    failure = Failure(ErrorKind.TIMEOUT, "answer 1 takes 1001 ms, but the timeout is 1000 ms")

    assert scripted_adapter({"output": "x", "latency": "1s"}).predict(attempt) == (Reply(b"x"), 1_000)
    assert scripted_adapter({"output": "x", "latency": "1001ms"}).predict(attempt) == (Reply(failure=failure), 1_000)


def test_an_output_that_exceeds_the_limit_is_truncated() -> None:
    attempt = call(limits=Limits(timeout_ms=1_000, max_output_bytes=3))
    failure = Failure(ErrorKind.OUTPUT_LIMIT, "the output has 4 bytes, but the limit is 3")

    assert scripted_adapter({"output": "123"}).predict(attempt) == (Reply(b"123"), 0)
    assert scripted_adapter({"output": "1234", "latency": "1s"}).predict(attempt) == (Reply(b"123", failure), 1_000)


def test_answers_in_an_attempt_take_precedence() -> None:
    scripted = scripted_adapter({"output": "mine"})
    with_own_answers = pickle.loads(pickle.dumps(call(settings={"answers": [{"output": "its own"}]})))  # noqa: S301

    contents = [scripted.predict(attempt)[0].content for attempt in (call(), with_own_answers, call())]

    assert contents == [b"mine", b"its own", b"mine"]


def test_a_miss_shows_the_call_and_why_the_nearest_answers_do_not_match() -> None:
    attempt = call(number=2, prompt=Prompt(text="Write\n" + 200 * "x"))
    answers: list[dict[str, Any]] = [
        {"agent": "critic", "output": "any task"},
        {"task": "other", "output": "another task"},
        {"task": "draft", "attempt": 1, "agent": "critic", "output": "x"},
        {"task": "draft", "contains": "1.2.0", "output": "x"},
    ]

    assert failure_message(attempt, *answers).splitlines() == [
        f"no answer in the script matches task 'draft', attempt 2, agent 'writer', text 'Write\\n{194 * 'x'}'...",
        "answer 3 requires agent 'critic' and requires attempt 1",
        "answer 4 requires a prompt that contains '1.2.0'",
        "answer 1 requires agent 'critic'",
    ]
    assert len(failure_message(attempt, *answers, *answers).splitlines()) == 4


def test_a_missed_command_check_is_described_as_such() -> None:
    attempt = call(agent=None, check=0, prompt=Prompt(argv=("python", "check it.py")))

    assert failure_message(attempt, {"task": "draft", "output": "x"}).splitlines() == [
        "no answer in the script matches task 'draft', attempt 1, a command check, argv \"python 'check it.py'\"",
        "answer 1 does not apply to command checks (add `check: command` to it)",
    ]
    assert failure_message(call(agent=None), {"task": "draft", "check": "command", "output": "x"}).splitlines() == [
        "no answer in the script matches task 'draft', attempt 1, no agent, text 'Write.'",
        "answer 1 applies only to command checks",
    ]


def test_a_miss_reports_that_no_answer_is_for_the_task() -> None:
    assert failure_message(call(), {"task": "other", "output": "x"}).splitlines()[1:] == [
        "none of the script's answers (1) names this task"
    ]


@pytest.mark.parametrize("settings", [{"type": "scripted"}, {"type": "scripted", "answers": []}])
def test_a_miss_without_any_answer_explains_how_to_provide_a_script(settings: dict[str, Any]) -> None:
    result, latency_ms = ScriptedAdapter("model", settings).predict(call())

    text = (
        "no answer for task 'draft', attempt 1, agent 'writer', text 'Write.': the script is empty; "
        "add a script to the workflow or pass --scripted FILE"
    )
    assert (result, latency_ms) == (Reply(failure=Failure(ErrorKind.INVALID_REQUEST, text)), 0)

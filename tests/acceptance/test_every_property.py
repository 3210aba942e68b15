"""Every property of a schema has an effect on the wave plan or on the answers of a script.

One bundle uses every property of every manifest. Removing or changing a property must change the result of the
compiler or, for a script, an answer. Every property of the wave plan must be read by the code that executes it.
"""

import copy
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bundles import bundle_of, plan_manifest
from forum_adapters.base import Attempt, Limits, Prompt
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.compile.compiler import CompileOptions, check_file, compile_workflow
from forum_runner.wave_plan import plan_value, planned_task, wave_plan_reader

ROOT = Path(__file__).parents[2]
SCHEMAS = {path.name: json.loads(path.read_text()) for path in (ROOT / "schemas" / "v1").glob("*.schema.json")}
# Properties of the wave plan that execution does not read: values that the compiler has already checked (the first word
# of a command is always literal), and the origin of a task (a task without an agent has a lane).
NOT_EXECUTED = ["commands", "lane", "matrix"]

BUDGET = {
    "calls": 9, "input_tokens": 10, "output_tokens": 11, "tokens": 12, "usd": "0.5", "wall": "3m", "output_bytes": 13,
}  # fmt: skip
LIMITS = {name: amount * 100 if isinstance(amount, int) else "99" for name, amount in BUDGET.items()} | {"wall": "9h"}
PRICES = {"input": "1", "cached_input": "0.5", "output": "2"}
MODEL = {
    "base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key_env": "KEY", "max_tokens": 5, "temperature": 0.5,
    "timeout": "1m", "connect_timeout": "1s", "stream": True, "structured_output": "prompt", "proxy_env": "PROXY",
    "prices": PRICES,
}  # fmt: skip
HEAD: dict[str, Any] = {"apiVersion": "forum/v1"}
FILES: dict[str, list[dict[str, Any]]] = {
    "workflow.yaml": [
        HEAD
        | {
            "kind": "Workflow",
            "metadata": {"name": "all", "description": "Everything at once."},
            "roster": "#team",
            "policy": "#rules",
            "plan": "#work",
            "inputs": {"version": "2"},
            "script": "#answers",
        },
        HEAD
        | {
            "kind": "Roster",
            "metadata": {"name": "team", "description": "Who."},
            "adapters": {
                "scripted": {"type": "scripted", "prices": PRICES},
                "plain": {"type": "command"},
                "shell": {"type": "command", "cwd": "sub", "env": ["HOME"], "stdin": "json", "timeout": "5s",
                          "max_output_bytes": 10},
                "cli": {"type": "command", "argv": ["model"], "prices": PRICES},
                "one": {"type": "openai", **MODEL},
                "two": {"type": "anthropic", **MODEL},
                "own": {"type": "x-own", "settings": {"a": 1}, "env": ["HOME"], "prices": PRICES},
            },
            "agents": {
                "operator": {"adapter": "shell"},
                "writer": {
                    "domain": "writing", "keywords": ["text"], "tier": "cheap", "persona": "Plain.",
                    "limits": LIMITS, "adapters": {"cheap": "one", "capable": "two", "frontier": "cli"},
                },
                "critic": {"adapter": "own"},
                "reader": {"adapter": "scripted"},
                "helper": {"adapter": "plain"},
            },
        },
        HEAD
        | {
            "kind": "Policy",
            "metadata": {"name": "rules"},
            "max_parallel": 2,
            "dispatch": "eager",
            "budget": LIMITS,
            "allow": {
                "agents": ["operator", "writer", "critic", "reader", "helper"],
                "adapters": ["scripted", "plain", "shell", "cli", "one", "two", "own"],
                "commands": ["git", "model", "test"],
                "hosts": ["127.0.0.1"],
                "env": ["HOME", "KEY", "PROXY"],
            },
            "retry": {"attempts": 3, "backoff": "2s", "max_backoff": "9s"},
            "rates": {"one": {"requests_per_minute": 6, "tokens_per_minute": 7}},
            "on_failure": "continue",
            "on_lost": "retry",
            "privacy": {"sensitive": True, "scrub_env": ["TOKEN"]},
            "durability": "each",
            "engine": "process",
        },
        plan_manifest(
            "work",
            inputs={
                "version": {"type": "string"},
                "mode": {"type": "string", "default": "short"},
                "key": {"type": "string", "secret": True},
            },
            tasks={
                "log": {
                    "agent": "operator",
                    "run": ["git", "log"],
                    "output": {"type": "object", "properties": {"items": {"type": "array"}}},
                    "matrix": {"side": ["a", "b"]},
                    "allow_failure": True,
                    "idempotent": True,
                    "sensitive": True,
                    "cache": True,
                },
                "find": {
                    "agent": "reader",
                    "instruction": "Find.",
                    "output": {"type": "object", "properties": {"items": {"type": "array"}}},
                },
                "draft": {
                    "agent": "writer",
                    "instruction": "Write.",
                    "needs": [
                        {
                            "task": "log", "edge": "data", "select": "/items", "as": "commits",
                            "expects": {"type": "array"}, "max_bytes": 100, "matrix": {"side": "a"},
                        },
                        {"task": "find", "edge": "order"},
                    ],
                    "done_when": ["it is short"],
                    "accept": [{"schema": {"type": "string"}}, {"command": ["test"]}, {"agent": "critic"}],
                    "retry": {"attempts": 2, "backoff": "3s", "max_backoff": "8s"},
                    "escalate": ["capable", "frontier"],
                    "budget": BUDGET,
                    "gate": {"question": "Go?", "deadline": "1h", "on_deadline": "approve"},
                    "when": {"task": "log", "select": "/items", "matrix": {"side": "b"}, "output": {"type": "array"}},
                },
                "each": {
                    "agent": "reader",
                    "instruction": "Read.",
                    "foreach": {"task": "log", "select": "/items", "matrix": {"side": "b"}, "as": "item", "max": 5},
                },
                "list": {"agent": "helper", "run": ["git", "ls-files"]},
                "routed": {"lane": "auto", "instruction": "Do.", "escalate": ["frontier"]},
                "used": {"uses": "inner.yaml", "with": {"text": "${{ inputs.version }}"}},
            },
            outputs={
                "short": "draft", "part": {"task": "log", "select": "/items", "matrix": {"side": "a"}},
                "a": "each", "b": "used", "c": "routed", "d": "list",
            },
        ),
        HEAD
        | {
            "kind": "Script",
            "metadata": {"name": "answers"},
            "answers": [
                {
                    "task": "draft", "agent": "writer", "attempt": 1, "contains": "Write", "output": "x",
                    "latency": "1s", "usage": {"input_tokens": 1, "cached_input_tokens": 1, "output_tokens": 2},
                },
                {
                    "check": "command",
                    "error": {"kind": "exit_status", "message": "no", "retry_after": "1s", "exit_status": 1},
                },
                {"task": "routed", "reply": "```\n1\n```"},
            ],
        },
    ],
    "inner.yaml": [
        plan_manifest(
            "inner",
            inputs={"text": {"type": "string"}},
            tasks={"read": {"agent": "reader", "instruction": "Read ${{ inputs.text }}."}},
            outputs={"answer": "read"},
        )
    ],
}  # fmt: skip


BASE_RESULT: Any = None


def compile_files(files: dict[str, list[dict[str, Any]]]) -> Any:
    """Return the compiler's result for the bundle: the plan without the digests of files, or the findings.

    If the schema rejects a value, return BASE_RESULT: it does not show whether the property is read.
    """
    contents = {name: "\n---\n".join(map(json.dumps, documents)) for name, documents in files.items()}
    result = compile_workflow(bundle_of(contents), "workflow.yaml", None, CompileOptions(require_all_inputs=True))
    if any(finding.code.startswith("F2") for finding in result.findings):
        return BASE_RESULT
    if result.wave_plan is None:
        return [(finding.code, finding.message) for finding in result.findings]
    return {name: value for name, value in result.wave_plan.items() if name != "bundle"}


def occurrences(schema: Any, value: Any, name: str, path: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield every property of a schema that a value uses: its location in the schema and its path in the value."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")
        target: Any = SCHEMAS[file or name]
        for token in pointer.split("/")[1:]:
            target = target[token]
        yield from occurrences(target, value, file or name, path)
    for branch in schema.get("allOf", ()):
        yield from occurrences(branch, value, name, path)
    if "if" in schema:
        chosen = "then" if _matches(schema["if"], value) else "else"
        yield from occurrences(schema.get(chosen), value, name, path)
    if isinstance(value, dict):
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key)
            if isinstance(inner, dict) and "title" in inner:
                yield f"{name}: {_location(name, inner)}", (*path, key)
            yield from occurrences(inner or schema.get("additionalProperties"), item, name, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from occurrences(schema.get("items"), item, name, (*path, index))


def _matches(condition: dict[str, Any], value: Any) -> bool:
    if "type" in condition:
        return bool(isinstance(value, str) == (condition["type"] == "string"))
    kind = value.get("type") if isinstance(value, dict) else value
    expected = condition.get("properties", {}).get("type", condition)
    return bool(kind == expected.get("const") or ("pattern" in expected and str(kind).startswith("x-")))


def _location(name: str, expected: dict[str, Any]) -> str:
    return next(location for location, schema in properties_of(name) if schema is expected)


def properties_of(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    def walk(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(node, dict):
            for key, item in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
                if isinstance(item, dict) and "title" in item:
                    yield "/".join((*path, key)), item
            for key, item in node.items():
                if key not in ("examples", "if"):
                    yield from walk(item, path if key in ("properties", "$defs", "else", "then") else (*path, key))
        elif isinstance(node, list):
            for item in node:
                yield from walk(item, path)

    return walk(SCHEMAS[name], ())


def used_properties() -> dict[str, list[tuple[str, tuple[Any, ...]]]]:
    result: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for file, documents in FILES.items():
        for index, document in enumerate(documents):
            name = f"{document['kind'].lower()}.schema.json"
            for location, path in occurrences(SCHEMAS[name], document, name, (index,)):
                result.setdefault(location, []).append((file, path))
    return result


USED = used_properties()
LANE = "plan.schema.json: task/lane"  # has one value, and replaces the agent
MANIFESTS = ("workflow", "roster", "policy", "plan", "script", "types")
DESCRIBED = sorted({f"{n}.schema.json: {path}" for n in MANIFESTS for path, _ in properties_of(f"{n}.schema.json")})


OTHER_TEXTS = (
    "other reject waves stop batch text json_schema capable order openai anthropic scripted x-other "
    "http://127.0.0.1:2/v1 7s 7 timeout"
).split()


def variations(value: Any) -> Iterator[Any]:
    """Yield different values for a property. A container is returned once for each change of one of its items."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield value / 2
    elif isinstance(value, str):
        yield from OTHER_TEXTS
    elif isinstance(value, dict):
        yield from ({**value, key: other} for key, item in value.items() for other in variations(item))
    else:
        yield from ([*value[:i], other, *value[i + 1 :]] for i, item in enumerate(value) for other in variations(item))


def variants(file: str, path: tuple[Any, ...]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Yield the bundle without the property, and with different values for it."""
    *parent_path, key = path

    def parent_in(files: Any) -> Any:
        node = files[file]
        for step in parent_path:
            node = node[step]
        return node

    without_property = copy.deepcopy(FILES)
    value = parent_in(without_property).pop(key)
    yield without_property
    for other in variations(value):
        changed = copy.deepcopy(FILES)
        parent_in(changed)[key] = other
        yield changed


BASE_RESULT = compile_files(FILES)


def test_the_bundle_that_uses_everything_compiles() -> None:
    assert isinstance(BASE_RESULT, dict), BASE_RESULT
    contents = {name: "\n---\n".join(map(json.dumps, documents)) for name, documents in FILES.items()}
    assert check_file(bundle_of(contents), "workflow.yaml", None, {}).findings == ()


def test_the_bundle_uses_every_property_of_every_manifest() -> None:
    assert sorted(set(DESCRIBED) - set(USED)) == []


ANSWERS = [name for name in DESCRIBED if name.startswith("script.schema.json: answer/")]


@pytest.mark.parametrize("property_", [name for name in DESCRIBED if name not in {LANE, *ANSWERS}])
def test_a_property_has_an_effect(property_: str) -> None:
    results = (compile_files(variant) for file, path in USED[property_] for variant in variants(file, path))

    assert any(result != BASE_RESULT for result in results)


def answers_of(files: dict[str, list[dict[str, Any]]]) -> list[Any] | None:
    """The answers of a script to all calls, or None if the script is invalid."""
    answers = next(item for item in files["workflow.yaml"] if item["kind"] == "Script")["answers"]
    try:
        adapter = ScriptedAdapter("script", {"answers": answers})
        return [adapter.predict(call) for call in CALLS]
    except (KeyError, TypeError, ValueError):
        return None


def calls() -> Iterator[Attempt]:
    """A call for each task, agent and check, with and without the texts that answers match."""
    script = next(item for item in FILES["workflow.yaml"] if item["kind"] == "Script")
    texts = ["", " ".join(answer.get("contains", "") for answer in script["answers"])]
    tasks = [*BASE_RESULT["tasks"], "nobody"]
    agents = [(agent, check) for agent in (*BASE_RESULT["agents"], "nobody") for check in (None, 0)] + [(None, 0)]
    for task, text, number, (agent, check) in itertools.product(tasks, texts, (1, 2, 3), agents):
        prompt, limits = Prompt(text=text), Limits(600_000, 1_000_000, 100)
        yield Attempt("", "", task, number, "script", {}, prompt, limits, agent=agent, check=check)


CALLS = list(calls())


@pytest.mark.parametrize("property_", ANSWERS)
def test_a_property_of_an_answer_has_an_effect(property_: str) -> None:
    base = answers_of(FILES)

    results = [answers_of(variant) for file, path in USED[property_] for variant in variants(file, path)]

    assert base is not None
    assert any(result not in (base, None) for result in results)


def test_a_lane_replaces_the_agent() -> None:
    assert BASE_RESULT["tasks"]["routed"]["lane"] == "auto"
    assert "agent" not in BASE_RESULT["tasks"]["routed"]


def test_every_property_of_the_wave_plan_is_read_by_the_executor() -> None:
    reader, attributes = _source("runner/forum_runner/wave_plan"), reader_attributes()
    source = _source("runner/forum_runner/execute", "runner/forum_runner/app", "adapters/forum_adapters")
    # Other documents have an apiVersion, too.
    names = {location.rpartition("/")[2] for location, _ in properties_of("wave-plan.schema.json")} - {"apiVersion"}

    def is_read(name: str) -> bool:
        # A member of a typed value is read where its attribute is used, any other where the reader looks it up.
        if f'"{name}"' in source or name not in attributes:
            return f'"{name}"' in source + reader
        return any(re.search(rf"\.{attribute}\b", source + reader) for attribute in attributes[name])

    assert sorted(name for name in names if not is_read(name)) == NOT_EXECUTED


def _source(*folders: str) -> str:
    return "\n".join(path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))


def reader_attributes() -> dict[str, set[str]]:
    """The attributes of the typed wave plan, by their names in the document."""
    result: dict[str, set[str]] = {}
    for module in (plan_value, planned_task, wave_plan_reader):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct):
                for item in msgspec.structs.fields(value):
                    result.setdefault(item.encode_name, set()).add(item.name)
    return result

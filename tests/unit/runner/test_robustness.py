"""A check reports findings with locations for any input, and never raises an exception."""

import copy
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import bundle_of, workflow
from forum_runner.compile.compiler import Compilation, check_file
from forum_runner.finding import sort_findings
from forum_runner.report import Report
from forum_runner.report.finding_formats import RENDERERS

VALID = workflow(
    {
        "inputs": {"version": {"type": "string", "default": "1"}, "key": {"type": "string", "secret": True}},
        "tasks": {
            "log": {
                "agent": "operator",
                "run": ["git", "log"],
                "output": {"type": "array", "items": {"type": "string"}},
            },
            "draft": {
                "agent": "writer",
                "instruction": "Write ${{ inputs.version }} from ${{ needs.commits }}",
                "needs": [{"task": "log", "select": "/0", "as": "commits", "expects": {"type": "string"}}],
                "accept": [{"agent": "critic"}, {"schema": {"type": "string"}}, {"command": ["true", "x"]}],
                "escalate": ["frontier"],
                "budget": {"calls": 4, "wall": "2m"},
                "gate": {"question": "Go?", "deadline": "1h"},
            },
            "each": {"agent": "writer", "instruction": "x", "foreach": {"task": "log", "as": "item", "max": 3}},
            "lang": {
                "agent": "writer",
                "instruction": "in ${{ matrix.lang }}",
                "matrix": {"lang": ["de", "en"]},
                "needs": ["draft", {"task": "each", "edge": "order"}],
                "when": {"task": "log", "output": {"minItems": 1}},
            },
        },
        "outputs": {"all": "lang", "one": {"task": "draft"}},
    },
    inputs={"version": "2"},
    script={"answers": [{"task": "draft", "output": "x", "usage": {"input_tokens": 1, "output_tokens": 2}}]},
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    [
        "",
        "log",
        "draft",
        "operator",
        "default",
        "${{ needs.log }}",
        "${{",
        "/0",
        "x-own",
        "[",
        "#a",
        "../x",
        "1h",
        "0",
        "*",
    ]
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in items for inner in paths_in(item, (*path, key)))]


PATHS = [path for path in paths_in(VALID) if path]


def check(data: bytes, name: str = "workflow.yaml") -> Compilation:
    result = check_file(bundle_of({name: data}), name, None, {})
    assert list(result.findings) == list(sort_findings(result.findings))
    for finding in result.findings:
        assert finding.place.line >= 1 and finding.place.column >= 1
        assert "\n" not in finding.message
    for render in RENDERERS.values():
        assert isinstance(render(Report(result.findings, {name: data.decode("utf-8", "replace")})), str)
    return result


def test_the_base_workflow_has_no_findings() -> None:
    assert check(json.dumps(VALID).encode()).findings == ()


@given(st.binary(max_size=300))
def test_random_bytes_never_crash(data: bytes) -> None:
    check(data)


@given(st.text(alphabet="ab:- \n\t[]{},&*!|>'\"%#?<0x.~", max_size=120))
def test_random_yaml_never_crashes(text: str) -> None:
    check(text.encode())


@given(JSON)
def test_random_values_never_crash(value: Any) -> None:
    check(yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass"))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(PATHS), JSON | WORDS), min_size=1, max_size=3), st.booleans())
def test_a_valid_workflow_with_parts_replaced_never_crashes(changes: list[tuple[Any, Any]], is_json: bool) -> None:
    mutant = copy.deepcopy(VALID)
    for path, value in changes:
        container: Any = mutant
        for step in path[:-1]:
            container = container[step] if isinstance(container, dict) and step in container else {}
            if not isinstance(container, dict):
                container = {}
        container[path[-1]] = value

    text = json.dumps(mutant) if is_json else yaml.safe_dump(mutant, allow_unicode=True)
    check(text.encode("utf-8", "surrogatepass"), "workflow.json" if is_json else "workflow.yaml")


@given(st.sampled_from(PATHS))
def test_a_valid_workflow_with_a_missing_part_never_crashes(path: tuple[Any, ...]) -> None:
    mutant = copy.deepcopy(VALID)
    container: Any = mutant
    for step in path[:-1]:
        container = container[step]
    del container[path[-1]]

    check(json.dumps(mutant).encode())


@given(st.integers(0, len(json.dumps(VALID))))
def test_a_truncated_workflow_never_crashes(length: int) -> None:
    check(json.dumps(VALID).encode()[:length])

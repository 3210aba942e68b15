"""`--only`, `--from`, `--until` and `--base`: the tasks that run, their names, and the credentials they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from acceptance.workflow_folder import MODEL, SHELL, Folder, ask, check_valid, sh

_MODEL = MODEL["adapters"]["model"]
ROSTER: dict[str, Any] = {
    "adapters": {
        **SHELL["adapters"],
        "own": {**_MODEL, "api_key_env": "OWN_KEY"},
        "next": {**_MODEL, "api_key_env": "NEXT_KEY"},
        "judges": {**_MODEL, "api_key_env": "JUDGE_KEY"},
    },
    "agents": {
        **SHELL["agents"],
        "writer": {"tier": "cheap", "adapters": {"cheap": "own", "capable": "next"}, "keywords": ["letter"]},
        "critic": {"adapter": "judges", "keywords": ["verdict"]},
    },
}
POLICY = {"allow": {"commands": ["sh"], "env": ["PATH", "OWN_KEY", "NEXT_KEY", "JUDGE_KEY"]}}
ALL_UNSET = dict.fromkeys(("OWN_KEY", "NEXT_KEY", "JUDGE_KEY"), "")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", ALL_UNSET)


def write_model_workflow(folder: Folder, **fields: Any) -> None:
    """Write a workflow with a model task between programs."""
    tasks = {
        "a": sh("echo a"),
        "b": ask("Write a letter.", needs=["a"], **fields),
        "c": sh("echo c", needs=[{"task": "a", "edge": "order"}]),
        "d": sh("echo d", needs=[{"task": "b", "edge": "order"}]),
    }
    folder.write(tasks, roster=ROSTER, policy=POLICY)


def test_a_part_needs_only_the_credentials_of_its_tasks(folder: Folder) -> None:
    write_model_workflow(folder)

    first = folder.run("--until", "a", "--until", "c", out="first")
    second = folder.run("--only", "c", "--base", "first", out="second")

    assert (first.code, first.err) == (0, ""), first
    assert folder.task_states("first") == {"a": "passed", "c": "passed"}
    assert second.code == 0, second
    assert (folder.reused_tasks("second"), set(folder.attempt_counts("second"))) == ({"a"}, {"c"})
    check_valid(folder.path / "second")


def test_a_reused_task_needs_no_credential(folder: Folder) -> None:
    folder.write({"a": ask("Write."), "c": sh("echo c", needs=["a"])}, roster=ROSTER, policy=POLICY)

    result = folder.run("--only", "c", "--base", "nowhere")

    assert "OWN_KEY" not in result.err, result
    assert result.code == 2, result


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({}, {"OWN_KEY"}),
        ({"escalate": ["capable"]}, {"OWN_KEY", "NEXT_KEY"}),
        ({"done_when": ["it is one"], "accept": [{"agent": "critic"}]}, {"OWN_KEY", "JUDGE_KEY"}),
        ({"agent": None, "lane": "auto"}, {"OWN_KEY"}),
    ],
    ids=["own adapter", "escalation", "judge", "routed agent"],
)
@pytest.mark.parametrize("part", [["--until", "b"], ["--only", "b"], ["--from", "b"], []], ids=" ".join)
def test_a_missing_credential_of_the_part_is_reported_before_anything_runs(
    folder: Folder, part: list[str], fields: dict[str, Any], missing: set[str]
) -> None:
    write_model_workflow(folder, **fields)
    document = folder.path / "workflow.yaml"
    document.write_text(document.read_text(encoding="utf-8").replace("agent: null", ""), encoding="utf-8")

    result = folder.run(*part)

    assert result.code == 8, result
    assert {name for name in ALL_UNSET if name in result.err} == missing, result.err
    assert not (folder.path / "run").exists()


CHAIN = {"a": sh("echo one"), "b": sh("cat", needs=["a"]), "c": sh("cat", needs=["b"]), "d": sh("echo four")}


@pytest.mark.parametrize("command", ["echo changed", "exit 1"])
@pytest.mark.requirement("RUN-PART-001")
def test_a_base_with_a_changed_task_is_refused_with_a_hint(folder: Folder, command: str) -> None:
    folder.write(CHAIN)
    folder.run(out="first")
    run = folder.entries("first")[0]["run"]
    folder.write({**CHAIN, "a": sh(command)})

    result = folder.run("--only", "b", "--base", "first")

    message = f"forum: cannot reuse the result of 'a' from run {run}: its command changed; "
    assert (result.code, result.err) == (2, f"{message}use --from a to run it and everything downstream of it\n")
    assert not (folder.path / "run").exists()


def test_the_hint_names_the_first_task_that_cannot_be_reused(folder: Folder) -> None:
    tasks = {"z": sh("echo z"), "a": sh("cat", needs=["z"]), "last": sh("cat", needs=["a"])}
    folder.write(tasks)
    folder.run(out="first")
    folder.write({**tasks, "z": sh("echo zz"), "a": sh("cat; true", needs=["z"])})

    refused = folder.run("--only", "last", "--base", "first")
    result = folder.run("--from", "z", "--base", "first")

    assert "; use --from z to run it" in refused.err
    assert (refused.code, result.code) == (2, 0), (refused, result)


def test_a_base_with_a_failed_task_is_refused_with_a_hint(folder: Folder) -> None:
    folder.write({**CHAIN, "a": sh("exit 1")})
    folder.run(out="first")

    result = folder.run("--only", "b", "--base", "first")

    assert result.code == 2
    assert "its state in that run is failed; use --from a to run it" in result.err


def test_a_base_that_lacks_the_task_is_refused_with_a_hint(folder: Folder) -> None:
    folder.write(CHAIN)
    folder.run("--until", "d", out="first")

    result = folder.run("--only", "b", "--base", "first")

    assert result.code == 2
    assert "it is not part of that run; use --base RUN with a run that contains it, or use --from a" in result.err


def write_nested_plans(folder: Folder) -> None:
    """Write a workflow that uses a plan for two matrix values. A task of that plan has its own matrix."""
    inner = {
        "up": sh("echo ${{ matrix.n }}", matrix={"n": [1, 2]}),
        "down": sh("echo down"),
    }
    inner_plan = {"apiVersion": "forum/v1", "kind": "Plan", "metadata": {"name": "inner"}, "tasks": inner}
    tasks = {"sub": {"uses": "./inner.yaml", "matrix": {"k": ["x", "y"]}}, "subs": sh("echo other")}
    folder.write(tasks)
    (folder.path / "inner.yaml").write_text(yaml.safe_dump(inner_plan), encoding="utf-8")


@pytest.mark.requirement("RUN-PART-001")
@pytest.mark.parametrize("option", ["--only", "--from", "--until"])
@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("sub", {f"sub[k={k}]/{task}" for k in "xy" for task in ("up[n=1]", "up[n=2]", "down")}),
        ("sub[k=x]", {"sub[k=x]/up[n=1]", "sub[k=x]/up[n=2]", "sub[k=x]/down"}),
        ("sub/up", {f"sub[k={k}]/up[n={n}]" for k in "xy" for n in (1, 2)}),
        ("sub[k=y]/up", {"sub[k=y]/up[n=1]", "sub[k=y]/up[n=2]"}),
        ("sub/up[n=2]", {"sub[k=x]/up[n=2]", "sub[k=y]/up[n=2]"}),
        ("sub[k=y]/up[n=2]", {"sub[k=y]/up[n=2]"}),
        ("subs", {"subs"}),
    ],
)
def test_a_name_from_the_plan_selects_all_tasks_expanded_from_it(
    folder: Folder, option: str, name: str, tasks: set[str]
) -> None:
    write_nested_plans(folder)

    result = folder.run(option, name)

    assert result.code == 0, result
    assert set(folder.attempt_counts()) == tasks


def test_an_unknown_name_lists_each_possible_name_once(folder: Folder) -> None:
    write_nested_plans(folder)

    result = folder.run("--only", "qqq")

    assert result.code == 2
    assert result.err == "forum: no task named 'qqq' in the plan; tasks: sub, sub/down, sub/up, subs\n"


@pytest.mark.requirement("RUN-PART-001")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--only b --from a", "--only cannot be combined with --from or --until"),
        ("--only b --until c", "--only cannot be combined with --from or --until"),
        ("--from c --until a", "--from 'c' has no effect: no task of --until is downstream of it"),
        ("--from a --from d --until c", "--from 'd' has no effect: no task of --until is downstream of it"),
        ("--from b --until c --until d", "--until 'd' is not downstream of any task of --from"),
    ],
)
def test_incompatible_parts_are_refused(folder: Folder, arguments: str, message: str) -> None:
    folder.write(CHAIN)
    folder.run(out="first")

    result = folder.run(*arguments.split(), "--base", "first")

    assert (result.code, result.err) == (2, f"forum: {message}\n")
    assert not (folder.path / "run").exists()


@pytest.mark.requirement("RUN-PART-001")
def test_from_and_until_run_the_tasks_between_them(folder: Folder) -> None:
    folder.write({**CHAIN, "e": sh("cat", needs=["c"]), "f": sh("cat", needs=["b"])})
    folder.run(out="first")

    result = folder.run("--from", "b", "--until", "c", "--base", "first")

    assert result.code == 0, result
    assert (set(folder.attempt_counts()), folder.reused_tasks()) == ({"b", "c"}, {"a"})

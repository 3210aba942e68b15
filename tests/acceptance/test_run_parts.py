"""Of a part of a plan only that is asked for which its tasks can use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.running import MODEL, SHELL, Folder, ask, check_holds, sh

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
NONE_SET = dict.fromkeys(("OWN_KEY", "NEXT_KEY", "JUDGE_KEY"), "")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", NONE_SET)


def with_asking(folder: Folder, **fields: Any) -> None:
    """A program, a task for a model behind it, and a program behind that."""
    tasks = {
        "a": sh("echo a"),
        "b": ask("Write a letter.", needs=["a"], **fields),
        "c": sh("echo c", needs=[{"task": "a", "edge": "order"}]),
        "d": sh("echo d", needs=[{"task": "b", "edge": "order"}]),
    }
    folder.write(tasks, roster=ROSTER, policy=POLICY)


def test_a_part_needs_no_credential_that_only_the_rest_uses(folder: Folder) -> None:
    with_asking(folder)

    first = folder.run("--until", "a", "--until", "c", out="first")
    second = folder.run("--only", "c", "--base", "first", out="second")

    assert (first.code, first.err) == (0, ""), first
    assert folder.ends("first") == {"a": "passed", "c": "passed"}
    assert second.code == 0, second
    assert (folder.reused("second"), set(folder.started("second"))) == ({"a"}, {"c"})
    check_holds(folder.path / "second")


def test_what_is_to_be_reused_needs_no_credential(folder: Folder) -> None:
    folder.write({"a": ask("Write."), "c": sh("echo c", needs=["a"])}, roster=ROSTER, policy=POLICY)

    ended = folder.run("--only", "c", "--base", "nowhere")

    assert "OWN_KEY" not in ended.err, ended
    assert ended.code == 2, ended


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({}, {"OWN_KEY"}),
        ({"escalate": ["capable"]}, {"OWN_KEY", "NEXT_KEY"}),
        ({"done_when": ["it is one"], "accept": [{"agent": "critic"}]}, {"OWN_KEY", "JUDGE_KEY"}),
        ({"agent": None, "lane": "auto"}, {"OWN_KEY"}),
    ],
    ids=["its own", "what it may climb to", "its judge's", "whom it is routed to"],
)
@pytest.mark.parametrize("part", [["--until", "b"], ["--only", "b"], ["--from", "b"], []], ids=" ".join)
def test_a_credential_that_the_part_can_use_is_missed_before_anything_runs(
    folder: Folder, part: list[str], fields: dict[str, Any], missing: set[str]
) -> None:
    with_asking(folder, **fields)
    document = folder.path / "workflow.yaml"
    document.write_text(document.read_text(encoding="utf-8").replace("agent: null", ""), encoding="utf-8")

    ended = folder.run(*part)

    assert ended.code == 8, ended
    assert {name for name in NONE_SET if name in ended.err} == missing, ended.err
    assert not (folder.path / "run").exists()

"""Missing credentials are reported by variable name before anything runs, and never by value."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.model_workflows import KEY, model, write_workflow
from acceptance.workflow_folder import Folder, ask
from servers.formats import Format

UNREACHABLE = "http://127.0.0.1:9/v1"
AGENTS = {"writer": {"adapter": "here"}, "critic": {"adapter": "there"}, "idle": {"adapter": "elsewhere"}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A writer and a critic, each with its own server, and an agent that no task uses."""
    folder = Folder(tmp_path / "work")
    adapters = {
        "here": model(Format.OPENAI, UNREACHABLE),
        "there": model(Format.ANTHROPIC, UNREACHABLE, proxy_env="PROXY"),
        "elsewhere": model(Format.OPENAI, UNREACHABLE, api_key_env="UNUSED"),
    }
    policy = {"allow": {"hosts": ["127.0.0.1"], "env": ["KEY", "PROXY", "UNUSED"]}}
    tasks = {"a": ask("Write.", accept=[{"agent": "critic"}])}
    write_workflow(folder, tasks, adapters, agents=AGENTS, policy=policy)
    return folder


def test_a_dry_run_lists_unset_variables(folder: Folder) -> None:
    none_set = folder.forum("run", "workflow.yaml", "--dry-run")
    one_set = folder.forum("run", "workflow.yaml", "--dry-run", env={"KEY": KEY})
    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json")

    assert [result.code for result in (none_set, one_set, as_json)] == [0, 0, 0]
    assert "\nnot set   KEY, PROXY (required to start a run)\n" in none_set.out
    assert "\nnot set   PROXY (required to start a run)\n" in one_set.out
    assert as_json.document()["not_set"] == ["KEY", "PROXY"]
    assert KEY not in one_set.out + one_set.err


def test_a_dry_run_lists_nothing_if_all_variables_are_set(folder: Folder) -> None:
    environment = {"KEY": KEY, "PROXY": "http://127.0.0.1:19"}

    result = folder.forum("run", "workflow.yaml", "--dry-run", env=environment)
    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json", env=environment)

    assert "not set" not in result.out
    assert as_json.document()["not_set"] == []


def test_a_scripted_run_needs_no_credentials(folder: Folder) -> None:
    script = "apiVersion: forum/v1\nkind: Script\nmetadata: {name: s}\nanswers: [{output: x}]\n"
    (folder.path / "script.yaml").write_text(script, encoding="utf-8")

    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json", "--scripted", "script.yaml")

    assert as_json.document()["not_set"] == []


@pytest.mark.parametrize(
    "suffix", ["\n", "\r\n", " ", "\u00e9"], ids=["line feed", "carriage return and line feed", "space", "not ASCII"]
)
def test_a_key_that_is_invalid_in_a_header_is_rejected_before_anything_runs(folder: Folder, suffix: str) -> None:
    result = folder.run(env={"KEY": KEY + suffix, "PROXY": "http://127.0.0.1:19"})

    assert result.code == 8, result
    assert "KEY (for here, there)" in result.err
    assert "only printable ASCII characters, without spaces or newlines" in result.err
    assert KEY not in result.out + result.err
    assert folder.files() == {"workflow.yaml"}

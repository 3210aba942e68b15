"""`forum doctor` reports installed versions, whether adapters answer, and which credentials are set."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.workflow_folder import MODEL, PATIENCE_S, SHELL, Folder, all_bytes_in, ask, check_valid, sh
from servers.faulty import FaultyServer

SECRET = "sk-not-to-be-shown"  # noqa: S105 - made up


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


@pytest.fixture
def unreachable_url() -> Iterator[str]:
    """A URL whose port is bound but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


def test_installed_versions_adapter_types_and_engines_are_listed(tmp_path: Path) -> None:
    result = Folder(tmp_path).forum("doctor")
    health = Folder(tmp_path).forum("doctor", "--json").document()

    assert result.code == 0, result
    assert health["ok"]
    assert set(health["types"]) >= {"anthropic", "command", "openai", "scripted"}
    assert set(health["engines"]) >= {"local", "process"}
    assert all(health["versions"].values())
    assert health["adapters"] == []
    assert all(name in result.out for name in ("forum", "Python", "httpx", "openai", "engines\n  local "))


def test_the_command_adapter_needs_no_server(folder: Folder) -> None:
    folder.write({"a": sh("touch ran")})

    result = folder.forum("doctor", "workflow.yaml")

    assert result.code == 0, result
    assert "shell" in result.out
    assert "command: answers" in result.out
    assert folder.files() == {"workflow.yaml"}


def test_an_unreachable_server_and_an_unset_credential_are_reported_differently(
    folder: Folder, unreachable_url: str
) -> None:
    model = {**MODEL["adapters"]["model"], "base_url": unreachable_url, "api_key_env": "KEY"}
    roster = {"adapters": {**SHELL["adapters"], "model": model}, "agents": {**SHELL["agents"], **MODEL["agents"]}}
    folder.write({"a": sh("echo"), "b": ask("Write.", needs=["a"])}, roster=roster)

    unset = folder.forum("doctor", "workflow.yaml")
    is_set = folder.forum("doctor", "workflow.yaml", env={"KEY": SECRET})
    as_json = folder.forum("doctor", "workflow.yaml", "--json", env={"KEY": SECRET})

    assert (unset.code, is_set.code, as_json.code) == (8, 1, 1), (unset, is_set)
    assert (
        "model          openai: not contacted because the environment variable KEY is not set\n    KEY is not set\n"
        in unset.out
    )
    assert "KEY is set" in is_set.out
    states = {adapter["name"]: adapter for adapter in as_json.document()["adapters"]}
    assert (states["shell"]["problem"], states["model"]["variables"]) == (None, {"KEY": True})
    assert states["model"]["problem"]
    assert SECRET not in is_set.out + is_set.err + as_json.out + as_json.err


def test_a_server_whose_key_is_not_set_is_not_contacted(folder: Folder) -> None:
    with FaultyServer() as server:
        model = {**MODEL["adapters"]["model"], "base_url": server.base_url, "api_key_env": "KEY", "proxy_env": "PROXY"}
        roster = {"adapters": {"model": model}, "agents": MODEL["agents"]}
        folder.write({"a": ask("Write.")}, roster=roster, policy={"allow": {"hosts": ["*"], "env": ["KEY", "PROXY"]}})

        result = folder.forum("doctor", "workflow.yaml", "--json")

        assert (result.code, server.connections) == (8, 0), result
    assert result.document()["adapters"] == [
        {
            "name": "model",
            "type": "openai",
            "variables": {"KEY": False, "PROXY": False},
            "problem": "not contacted because the environment variables KEY and PROXY are not set",
        }
    ]


def test_an_unknown_adapter_type_is_reported_for_that_adapter(folder: Folder) -> None:
    roster = {"adapters": {"mine": {"type": "x-nowhere"}}, "agents": {"writer": {"adapter": "mine"}}}
    folder.write({"a": ask("Write.")}, roster=roster)

    result = folder.forum("doctor", "workflow.yaml")

    assert result.code == 1, result
    assert "no adapter type 'x-nowhere' is installed" in result.out


@pytest.fixture
def failing_adapter(folder: Folder) -> Folder:
    """A folder with a workflow whose adapter is from a package and raises in every method."""
    package = folder.path / "package"
    info = package / "rude-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rude\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[forum.adapters]\nx-rude = rude:Rude\n", encoding="utf-8")
    text = "class Rude:\n    def __init__(self, name, settings): pass\n"
    for method, argument in (("answer", ", attempt"), ("probe", ""), ("close", "")):
        text += f"    async def {method}(self{argument}): raise RuntimeError('no {method} of {SECRET}')\n"
    (package / "rude.py").write_text(text, encoding="utf-8")
    roster = {"adapters": {"mine": {"type": "x-rude"}}, "agents": {"writer": {"adapter": "mine"}}}
    folder.write({"a": ask("Write.")}, roster=roster, policy={"privacy": {"scrub_env": ["KEY"]}})
    path = os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH"))))
    return Folder(folder.path, {"PYTHONPATH": path, "KEY": SECRET})


def test_a_failing_third_party_adapter_is_reported(failing_adapter: Folder) -> None:
    process = failing_adapter.start("doctor", "workflow.yaml")

    out, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1, err
    assert b"x-rude: the probe failed: RuntimeError: no probe" in out
    assert SECRET.encode() not in out + err


def test_a_failing_third_party_adapter_does_not_crash_the_run(failing_adapter: Folder) -> None:
    process = failing_adapter.start("run", "workflow.yaml", "--out", "run")

    out, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1, err
    assert failing_adapter.task_states() == {"a": "failed: error"}
    assert failing_adapter.entries("run", "task.finished")[0]["data"]["error"] == "internal"
    assert SECRET.encode() not in out + err + all_bytes_in(failing_adapter.path / "run")
    check_valid(failing_adapter.path / "run")


def test_errors_in_the_workflow_are_reported(folder: Folder) -> None:
    folder.write({"a": {"agent": "nobody", "instruction": "x"}})

    result = folder.forum("doctor", "workflow.yaml")

    assert (result.code, "F012" in result.err) == (2, True)


def test_doctor_needs_no_input_values(folder: Folder) -> None:
    inputs = {"word": {"type": "string"}, "token": {"type": "string", "secret": True}}
    folder.write({"a": sh("echo ${{ inputs.word }} ${{ inputs.token }}")}, inputs=inputs)

    assert folder.forum("doctor", "workflow.yaml").code == 0


def test_a_missing_program_is_reported(folder: Folder) -> None:
    task = {"agent": "operator", "run": ["no-such-program", "x"]}
    folder.write({"a": task}, policy={"allow": {"commands": ["no-such-program"], "env": ["PATH", "KEY"]}})

    result = folder.forum("doctor", "workflow.yaml")

    assert result.code == 1, result
    assert "no-such-program not found" in result.out

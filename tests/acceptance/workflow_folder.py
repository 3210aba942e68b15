"""A folder with a workflow, in which tests run `forum`, and checks of its runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import warm
from forum_conformance.judge import judge
from forum_runner.api import TrustedReferences
from forum_runner.app.replay import replay
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.source import ledger_at

FORUM = [sys.executable, "-m", "forum_runner"]
ALL_LEVELS = dict.fromkeys(range(1, 6), "ok")
# Variables that would change the commands under test. A git hook sets variables of git, and a CI job its own.
_EXCLUDED_PREFIXES = ("GIT_", "GITHUB_", "FORUM_", "NO_COLOR")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(_EXCLUDED_PREFIXES)}
# Long enough for a busy machine: a command that takes longer hangs.
PATIENCE_S = 120
POLL_S = 0.001

SHELL: dict[str, Any] = {
    "adapters": {"shell": {"type": "command", "env": ["PATH"], "stdin": "json"}},
    "agents": {"operator": {"adapter": "shell"}},
}
# This server is never contacted: scripts answer the calls of these workflows.
MODEL: dict[str, Any] = {
    "adapters": {"model": {"type": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "small"}},
    "agents": {"writer": {"adapter": "model"}, "critic": {"adapter": "model"}},
}
Fields = Mapping[str, Any]


def sh(script: str, **fields: Any) -> dict[str, Any]:
    """A task that runs a shell script."""
    return {"agent": "operator", "run": ["sh", "-c", script], **fields}


def ask(instruction: str, **fields: Any) -> dict[str, Any]:
    """A task for a model."""
    return {"agent": "writer", "instruction": instruction, **fields}


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that contains a workflow. Commands run in it, with `env` added to their environment."""

    path: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def write(
        self,
        tasks: Fields,
        *,
        policy: Fields | None = None,
        roster: Fields = SHELL,
        inputs: Fields | None = None,
        outputs: Fields | None = None,
        answers: Sequence[Fields] | None = None,
        name: str = "workflow",
    ) -> Path:
        """Write a workflow as one file, with a policy that allows the shell."""
        allowed = {"allow": {"commands": ["sh"], "env": ["PATH", "KEY"]}}
        plan: dict[str, Any] = {"tasks": tasks}
        plan |= {"inputs": inputs} if inputs else {}
        plan |= {"outputs": outputs} if outputs else {}
        document: dict[str, Any] = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": name}}
        document |= {"roster": roster, "policy": {**allowed, **(policy or {})}, "plan": plan}
        if answers is not None:
            document["script"] = {"answers": list(answers)}
        path = self.path / f"{name}.yaml"
        self.path.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(document, sort_keys=False, width=1_000), encoding="utf-8")
        return path

    def forum(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Result:
        """Run a command and wait until it ends."""
        result = warm.call("forum", *arguments, cwd=self.path, env=self._environment(env))
        return Result(result.returncode, warm.as_text(result.stdout), warm.as_text(result.stderr))

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command."""
        return subprocess.Popen(
            [*FORUM, *map(str, arguments)],
            cwd=self.path,
            env=self._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str | Path, out: str = "run", env: Mapping[str, str] | None = None) -> Result:
        """Run the workflow into the directory `out`."""
        return self.forum("run", "workflow.yaml", "--out", out, "--progress", "none", *arguments, env=env)

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {**_ENVIRONMENT, **self.env, **(env or {})}

    def entries(self, out: str | Path = "run", *kinds: str) -> list[dict[str, Any]]:
        """The complete entries of a ledger. With `kinds`, only entries of these kinds."""
        lines = (self.path / out / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
        return [entry for entry in map(json.loads, lines) if not kinds or entry["kind"] in kinds]

    def task_states(self, out: str | Path = "run") -> dict[str, str]:
        """The state of each task and instance, followed by a colon and the reason if there is one."""
        states = {}
        for entry in self.entries(out, "task.ended"):
            data = entry["data"]
            states[data["task"]] = f"{data['state']}: {data['reason']}" if "reason" in data else data["state"]
        return states

    def attempt_counts(self, out: str | Path = "run") -> Counter[str]:
        """The number of attempts of each task and instance."""
        return Counter(entry["data"]["task"] for entry in self.entries(out, "task.started"))

    def reused_tasks(self, out: str | Path = "run") -> set[str]:
        return {entry["data"]["task"] for entry in self.entries(out, "task.reused")}

    def body(self, out: str | Path, entry: Fields, name: str) -> bytes:
        with (self.path / out / "bodies.tar").open("rb") as stream:
            content = BodyReader(stream).read(BodyReference(**entry["bodies"][name]))
        assert content is not None
        return content

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        """The lines of a file that programs append to; none if it does not exist."""
        path = self.path / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def files(self) -> set[str]:
        return {path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file()}


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document


def check_valid(directory: Path) -> None:
    """Assert that both verifiers accept all five levels and that replay gives the same bytes."""
    report = verify_ledger(ledger_at(directory), None, TrustedReferences())
    judged = judge(directory)

    assert report.findings == ()
    assert {level.level: level.status for level in report.levels} == ALL_LEVELS
    assert judged.findings.codes() == []
    assert judged.verdict == "valid"
    check_replay(directory)


def check_replay(directory: Path) -> None:
    replayed = replay(ledger_at(directory))

    assert replayed.outcome.divergence is None
    assert replayed.is_same


def truncate_after(directory: Path, entries: int) -> None:
    """Leave the run as if its process had been killed after that many entries."""
    ledger = directory / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:entries]))
    for name in ("checkpoint", "outputs"):
        path = directory / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def bytes_in(directory: Path, *excluded: str) -> dict[str, bytes]:
    """The contents of all files of a run directory by path, without the excluded paths."""
    paths = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name not in excluded}


def all_bytes_in(directory: Path) -> bytes:
    """The names and bytes of all files, to search for leaks."""
    return b"\n".join(name.encode() + b"\n" + data for name, data in sorted(bytes_in(directory).items()))


def processes_with(mark: str) -> list[int]:
    """The processes with this text in their command line or environment."""
    return list(_marked(mark.encode()))


def _marked(mark: bytes) -> Iterator[int]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            try:
                text = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
            except OSError:
                continue
            if mark in text:
                yield int(path.name)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the file exists. Fail if the process ends first."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(POLL_S)

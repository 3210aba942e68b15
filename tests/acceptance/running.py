"""A folder with a workflow, the commands that are called in it, and what must hold of every run that they leave."""

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
from forum_runner.api import Trusted
from forum_runner.app.replay import replay
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.source import ledger_at

FORUM = [sys.executable, "-m", "forum_runner"]
ALL_LEVELS = dict.fromkeys(range(1, 6), "ok")
# Inside a hook git names its own repository, and inside a CI job the job names its summary.
_NOT_OURS = ("GIT_", "GITHUB_", "FORUM_", "NO_COLOR")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}
# Long enough for a busy machine: what takes longer hangs.
PATIENCE_S = 120
POLL_S = 0.001

SHELL: dict[str, Any] = {
    "adapters": {"shell": {"type": "command", "env": ["PATH"], "stdin": "json"}},
    "agents": {"operator": {"adapter": "shell"}},
}
# Never reached: these workflows are answered from scripts.
MODEL: dict[str, Any] = {
    "adapters": {"model": {"type": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "small"}},
    "agents": {"writer": {"adapter": "model"}, "critic": {"adapter": "model"}},
}
Document = Mapping[str, Any]


def sh(script: str, **fields: Any) -> dict[str, Any]:
    """A task that runs a script of the shell."""
    return {"agent": "operator", "run": ["sh", "-c", script], **fields}


def ask(instruction: str, **fields: Any) -> dict[str, Any]:
    """A task for a model."""
    return {"agent": "writer", "instruction": instruction, **fields}


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a workflow stands, and where commands are called. `env` is added to their environment."""

    path: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def write(
        self,
        tasks: Document,
        *,
        policy: Document | None = None,
        roster: Document = SHELL,
        inputs: Document | None = None,
        outputs: Document | None = None,
        answers: Sequence[Document] | None = None,
        name: str = "workflow",
    ) -> Path:
        """A workflow in one file; its policy allows the shell."""
        allowed = {"allow": {"commands": ["sh"], "env": ["PATH", "KEY"]}}
        plan: dict[str, Any] = {"tasks": tasks}
        plan |= {"inputs": inputs} if inputs else {}
        plan |= {"outputs": outputs} if outputs else {}
        form: dict[str, Any] = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": name}}
        form |= {"roster": roster, "policy": {**allowed, **(policy or {})}, "plan": plan}
        if answers is not None:
            form["script"] = {"answers": list(answers)}
        path = self.path / f"{name}.yaml"
        self.path.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(form, sort_keys=False, width=1_000), encoding="utf-8")
        return path

    def forum(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Ended:
        """Calls a command, to its end."""
        ended = warm.call("forum", *arguments, cwd=self.path, env=self._environment(env))
        return Ended(ended.returncode, warm.as_text(ended.stdout), warm.as_text(ended.stderr))

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Calls a command, and leaves it at work."""
        return subprocess.Popen(
            [*FORUM, *map(str, arguments)],
            cwd=self.path,
            env=self._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str | Path, out: str = "run", env: Mapping[str, str] | None = None) -> Ended:
        """Runs the workflow into the directory `out`."""
        return self.forum("run", "workflow.yaml", "--out", out, "--progress", "none", *arguments, env=env)

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {**_ENVIRONMENT, **self.env, **(env or {})}

    def entries(self, out: str | Path = "run", *kinds: str) -> list[dict[str, Any]]:
        """The whole lines of a ledger, or those of some kinds."""
        lines = (self.path / out / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
        return [entry for entry in map(json.loads, lines) if not kinds or entry["kind"] in kinds]

    def ends(self, out: str | Path = "run") -> dict[str, str]:
        """How each task and instance ended: its state and, after a colon, the reason."""
        found = {}
        for entry in self.entries(out, "task.ended"):
            data = entry["data"]
            found[data["task"]] = f"{data['state']}: {data['reason']}" if "reason" in data else data["state"]
        return found

    def started(self, out: str | Path = "run") -> Counter[str]:
        """How many attempts each unit had."""
        return Counter(entry["data"]["task"] for entry in self.entries(out, "task.started"))

    def reused(self, out: str | Path = "run") -> set[str]:
        return {entry["data"]["task"] for entry in self.entries(out, "task.reused")}

    def body(self, out: str | Path, entry: Document, name: str) -> bytes:
        with (self.path / out / "bodies.tar").open("rb") as stream:
            found = BodyReader(stream).read(entry["bodies"][name])
        assert found is not None
        return found

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        """Of a file that programs append to; none, if none has."""
        path = self.path / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def files(self) -> set[str]:
        return {path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file()}


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def check_holds(directory: Path) -> None:
    """Valid at all five levels, to both verifiers; and its story is told again to the byte."""
    report = verify_ledger(ledger_at(directory), None, Trusted())
    judged = judge(directory)

    assert report.findings == ()
    assert {level.level: level.status for level in report.levels} == ALL_LEVELS
    assert judged.findings.codes() == []
    assert judged.verdict == "valid"
    check_is_told_again(directory)


def check_is_told_again(directory: Path) -> None:
    replayed = replay(ledger_at(directory))

    assert replayed.outcome.divergence is None
    assert replayed.is_same


def cut_after(directory: Path, entries: int) -> None:
    """Leaves what a process that was killed at that moment leaves."""
    ledger = directory / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:entries]))
    for name in ("checkpoint", "outputs"):
        path = directory / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def bytes_in(directory: Path, *left_out: str) -> dict[str, bytes]:
    """All files of a run directory, by their paths."""
    found = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name not in left_out}


def everything_in(directory: Path) -> bytes:
    """The bytes of all files, with their names: whatever leaks is in there."""
    return b"\n".join(name.encode() + b"\n" + data for name, data in sorted(bytes_in(directory).items()))


def processes_with(mark: str) -> list[int]:
    """The processes that have this in their command line or in their environment."""
    return list(_marked(mark.encode()))


def _marked(mark: bytes) -> Iterator[int]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            try:
                told = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
            except OSError:
                continue
            if mark in told:
                yield int(path.name)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a program has made the file; the process that started it must be at work until then."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(POLL_S)

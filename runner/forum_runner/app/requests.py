"""The requests of the API. Relative paths start at the workspace's root."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.workspace import Workspace

_NAME = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class Inputs:
    """`texts` are typed by the plan, as on a command line; `file` is a YAML or JSON mapping."""

    texts: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def in_workspace(self, workspace: Workspace) -> Inputs:
        return self if self.file is None else replace(self, file=workspace.path(self.file))


@dataclass(frozen=True, slots=True)
class TaskSelection:
    """The part of a plan to run: `only` these tasks, or all from `start`, or all `until`."""

    only: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    until: tuple[str, ...] = ()

    @property
    def needs_base(self) -> bool:
        return bool(self.only or self.start)

    def __bool__(self) -> bool:
        return bool(self.only or self.start or self.until)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A new run of a workflow, which is a path, or `path#name` if the file contains several.

    `root` is the bundle's root, by default the workflow's folder. `base` is the run that results are reused from;
    without it, a selection reuses those of the last run. `script` replaces the workflow's own script, and
    `answers_from` is a run whose recorded answers are used instead. `cached` is a run whose results are the cache of a
    scripted run. `out` is the run directory. `engine` takes precedence over the policy's.
    """

    workflow: str
    root: Path | None = None
    inputs: Inputs = field(default_factory=Inputs)
    tasks: TaskSelection = field(default_factory=TaskSelection)
    base: str | None = None
    is_scripted: bool = False
    is_deterministic: bool = False
    script: str | None = None
    answers_from: str | None = None
    cached: Path | None = None
    out: Path | None = None
    engine: str | None = None

    @property
    def uses_script(self) -> bool:
        return self.is_scripted or self.is_deterministic or self.script is not None

    def in_workspace(self, workspace: Workspace) -> RunRequest:
        """The same request with every path joined to the workspace's root."""
        return replace(
            self,
            workflow=str(workspace.path(self.workflow)),
            root=workspace.path(self.root),
            inputs=self.inputs.in_workspace(workspace),
            script=None if self.script is None else str(workspace.path(self.script)),
            cached=workspace.path(self.cached),
            out=workspace.path(self.out),
        )


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """A run that paused or was killed. `inputs` has its secret inputs again; `root` is where its files are.

    `started_with` is the request that started the run, if the run directory does not contain it.
    """

    run: str
    root: Path | None = None
    inputs: Inputs = field(default_factory=Inputs)
    started_with: RunRequest | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """A new run of an earlier run's workflow, which reuses results that passed and have not changed."""

    run: str
    root: Path | None = None
    inputs: Inputs = field(default_factory=Inputs)
    out: Path | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """A decision, `approved` or `rejected`, about the gate of a task.

    `displayed` is the digest of what the person saw, or its first characters; a decision about anything else is
    refused. `instruction` replaces the task's own.
    """

    run: str
    task: str
    decision: str
    by: str
    reason: str | None = None
    displayed: str | None = None
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class RedactionRequest:
    """A body to remove from a run: its name in the entry `seq`. `reason` and `by` are recorded."""

    run: str
    seq: int
    body: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Trusted:
    """Facts from elsewhere that a verifier compares a ledger with. The path `-` is standard input."""

    head: str | None = None
    checkpoint: Path | None = None
    key: Path | None = None
    pin: Path | None = None

    def in_workspace(self, workspace: Workspace) -> Trusted:
        paths = [None if path is None else workspace.file(path) for path in (self.checkpoint, self.key, self.pin)]
        return Trusted(self.head, *paths)


def person_name(given: str) -> str:
    """Checks a name that entries will contain. It is never changed: the ledger would name somebody else."""
    if not given:
        raise UsageError("the name of the person is empty or unknown; give it with --by NAME")
    if not _NAME.fullmatch(given):
        raise UsageError(
            f"'{given}' cannot be recorded as a name: no spaces, only ASCII, at most 200 characters (--by)"
        )
    return given

"""The requests of the API. Relative paths are resolved against the workspace root."""

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
    """The inputs of a workflow.

    `texts` are strings, as on a command line; the type of each input decides how its text is parsed. `file` contains a
    YAML or JSON mapping.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def in_workspace(self, workspace: Workspace) -> Inputs:
        for name, text in self.texts.items():
            if text.encode(errors="ignore").decode() != text:
                fault = "contains a lone surrogate, which cannot be encoded as UTF-8"
                raise UsageError(f"the value of the input '{name}' {fault}")
        return self if self.file is None else replace(self, file=workspace.path(self.file))


@dataclass(frozen=True, slots=True)
class TaskSelection:
    """The part of a plan to run. `start` and `until` can be combined.

    `only`: exactly these tasks. `start`: these tasks and everything downstream. `until`: these and everything upstream.
    """

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
    """Starts a new run. `workflow` is a path, or `path#name` if the file contains several workflows.

    `root` is the bundle's root, by default the workflow's folder. `base` is the run whose results are reused; if
    it is not set, a selection of tasks reuses results of the last run. `script` replaces the workflow's own script.
    `answers_from` is a run whose recorded answers are used instead. `cache_run` is a run that a scripted run uses as
    its result cache. `out` is the run directory. `engine` overrides the engine of the policy.
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
    cache_run: Path | None = None
    out: Path | None = None
    engine: str | None = None

    @property
    def uses_script(self) -> bool:
        return self.is_scripted or self.is_deterministic or self.script is not None

    @property
    def mode(self) -> str:
        """The mode that the run's first entry records."""
        if self.is_deterministic:
            return "deterministic"
        return "scripted" if self.uses_script or self.answers_from is not None else "live"

    def in_workspace(self, workspace: Workspace) -> RunRequest:
        """The same request, with all paths resolved against the workspace root."""
        return replace(
            self,
            workflow=str(workspace.path(self.workflow)),
            root=workspace.path(self.root),
            inputs=self.inputs.in_workspace(workspace),
            script=None if self.script is None else str(workspace.path(self.script)),
            cache_run=workspace.path(self.cache_run),
            out=workspace.path(self.out),
        )


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """Resumes a run that paused or was killed. `inputs` has the secret inputs, which are not recorded.

    `root` is the folder of the run's files, if they have moved. `started_with` is the request that started the run,
    if the run directory does not contain it.
    """

    run: str
    root: Path | None = None
    inputs: Inputs = field(default_factory=Inputs)
    started_with: RunRequest | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """Starts a new run of an earlier run's workflow, and reuses results that passed and have not changed."""

    run: str
    root: Path | None = None
    inputs: Inputs = field(default_factory=Inputs)
    out: Path | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """Decides the gate of a task. `decision` is `approved` or `rejected`.

    `displayed_digest` is the digest of the document that the person saw, or a prefix of it; if the gate displays a
    different document, the decision is refused. `instruction` replaces the instruction of the task.
    """

    run: str
    task: str
    decision: str
    by: str
    reason: str | None = None
    displayed_digest: str | None = None
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class RedactionRequest:
    """Removes the body named `body` of the entry `seq` from a run. `reason` and `by` are recorded."""

    run: str
    seq: int
    body: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class TrustedReferences:
    """Values from a trusted source that the verifier compares a ledger with. The path `-` is standard input.

    `head` is the hash of the last line. The others are files: a checkpoint, a public key, and the checkpoint that an
    earlier verification stored (`pin`).
    """

    head: str | None = None
    checkpoint: Path | None = None
    key: Path | None = None
    pin: Path | None = None

    def in_workspace(self, workspace: Workspace) -> TrustedReferences:
        paths = [None if path is None else workspace.file(path) for path in (self.checkpoint, self.key, self.pin)]
        return TrustedReferences(self.head, *paths)


def checked_person_name(name: str) -> str:
    """Returns the name, or raises if it cannot be recorded. A normalized name could be somebody else's."""
    if not name:
        raise UsageError("cannot determine your name; pass it with --by NAME")
    if not _NAME.fullmatch(name):
        raise UsageError(f"invalid name '{name}' for --by: use at most 200 ASCII characters and no spaces")
    return name

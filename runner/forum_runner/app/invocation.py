"""Records how a run was started, in addition to the facts in its ledger. Resuming the run needs both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from forum_runner.errors import UsageError

INVOCATION = "invocation.json"
_SelectionMember = Annotated[str, Meta(pattern=r"^(only|start|until)\Z")]


class Invocation(Struct, frozen=True, kw_only=True):
    """How a run was started, without its secrets. The file has every member, null if it has no value.

    `workflow` is a path from `root`. `answers` come from the script; `script` is its file if the workflow does not name
    it. `answers_from` is the directory of a run whose answers are used. `base` is the directory of a run whose results
    are reused, and `eligible_tasks` limits this to some tasks. `selection` has the members of a `TaskSelection`. The
    other members are those of the request.
    """

    root: Path
    workflow: Annotated[str, Meta(min_length=1)]
    answers: Sequence[dict[str, Any]] | None
    script: Path | None
    answers_from: Path | None
    base: Path | None
    eligible_tasks: frozenset[str] | None = field(name="among")
    inputs: Mapping[str, str]
    inputs_file: Path | None
    selection: Mapping[_SelectionMember, tuple[str, ...]] = field(name="selected")
    engine: str | None

    @property
    def is_live(self) -> bool:
        """Whether adapters answer the calls, not a script or a recorded run."""
        return self.answers is None and self.answers_from is None

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=str, order="deterministic"), indent=1)


def read_invocation(directory: Path) -> Invocation:
    path = directory / INVOCATION
    if path.exists() and not path.is_file():
        # A pipe could block.
        raise UsageError(f"'{path}' was altered: it is not a regular file")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Invocation, dec_hook=_read_path)
    except FileNotFoundError:
        hint = "copy it from the original run directory; if the workflow has moved, use --root"
        raise UsageError(f"'{directory}' has no {INVOCATION}, which records how the run was started; {hint}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' was altered: {error}") from error


def _read_path(_type: type, value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError("Expected a path")
    return Path(value)

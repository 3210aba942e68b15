"""Records how a run was started, in addition to the facts in its ledger. Resuming the run needs both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from forum_runner.errors import UsageError
from forum_runner.ledger.entry_schema import schema_violation
from forum_runner.manifest.schema_check import validator

INVOCATION = "invocation.json"
# The description of a fault quotes the value, which may be long.
_MAX_FAULT_LENGTH = 200
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
        try:
            return msgspec.json.format(msgspec.json.encode(self, enc_hook=str, order="deterministic"), indent=1)
        except UnicodeEncodeError as error:
            text = error.object.encode(errors="backslashreplace").decode()
            raise UsageError(
                f"cannot record '{text}' in {INVOCATION}: it is not UTF-8; use a different name"
            ) from error


def read_invocation(directory: Path) -> Invocation:
    path = directory / INVOCATION
    if path.exists() and not path.is_file():
        # A pipe could block.
        raise UsageError(f"'{path}' was altered: it is not a regular file")
    try:
        invocation = msgspec.json.decode(path.read_bytes(), type=Invocation, dec_hook=_read_path)
    except FileNotFoundError:
        hint = "copy it from the original run directory; if the workflow has moved, use --root"
        raise UsageError(f"'{directory}' has no {INVOCATION}, which records how the run was started; {hint}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' was altered: {error}") from error
    fault = None if invocation.answers is None else _fault_in(invocation.answers)
    if fault is not None:
        raise UsageError(f"'{path}' was altered: {fault[:_MAX_FAULT_LENGTH]}")
    return invocation


def _fault_in(answers: Sequence[dict[str, Any]]) -> str | None:
    """Why the answers are not those of a script; None if they are."""
    header = {"apiVersion": "forum/v1", "kind": "Script", "metadata": {"name": "script"}}
    return schema_violation(validator("script"), {**header, "answers": answers})


def _read_path(_type: type, value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError("Expected a path")
    return Path(value)

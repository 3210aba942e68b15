"""The types of values in entries: enumerations, numbers, texts, and objects that several kinds share.

msgspec checks ranges and lengths while it decodes. `entry_decoder` checks the patterns, which is twice as fast as
checking them in msgspec.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from forum_runner.canonical import MAX_INTEGER

TaskState = Literal["passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled"]
RunStatus = Literal["passed", "failed", "stopped", "refused", "cancelled"]
RunMode = Literal["live", "scripted", "deterministic", "imported"]
PauseReason = Literal["gate", "interrupted"]
CallStatus = Literal["ok", "error", "cancelled"]
CallError = Literal[
    "timeout", "network", "rate_limited", "quota_exhausted", "auth", "model_unavailable", "context_length",
    "content_filter", "invalid_request", "malformed", "schema_mismatch", "exit_status", "output_limit", "tool_failure",
    "cancelled", "internal",
]  # fmt: skip
# Why a task did not pass. `error`: its own call failed. `failure`: one of its instances, or another task, failed.
# `expects`: a value that it needs is unavailable or does not match. `repeated`: its next prompt was already answered.
EndReason = Literal[
    "error", "verdict", "expects", "condition", "upstream", "rejected", "deadline", "budget", "policy", "failure",
    "interrupted", "repeated",
]  # fmt: skip
TierName = Literal["cheap", "capable", "frontier"]
GateDecision = Literal["approved", "rejected"]
VerdictValue = Literal["pass", "fail", "none"]
BudgetScope = Literal["run", "agent", "task"]
BudgetResource = Literal[
    "calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "wall_ms", "output_bytes"
]  # fmt: skip
ReservedResource = Literal["input_tokens", "output_tokens", "micro_usd", "output_bytes"]

Amount = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
PositiveInt = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]


def _matching(pattern: str, max_length: int) -> Meta:
    return Meta(max_length=max_length, extra_json_schema={"pattern": f"^{pattern}$"})


_DATE, _TIME_OF_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"

Digest = Annotated[str, _matching("[0-9a-f]{64}", 64)]
RunId = Annotated[str, _matching("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", 36)]
Timestamp = Annotated[str, _matching(f"{_DATE}T{_TIME_OF_DAY}[.][0-9]{{6}}Z", 27)]
TaskId = Annotated[str, _matching(r"[A-Za-z0-9_./%+=,~\[\]-]+", 4096)]
Label = Annotated[str, _matching("[!-~]+", 256)]
OutputName = Annotated[str, _matching("[A-Za-z][A-Za-z0-9_-]*", 64)]
FileName = Annotated[str, Meta(min_length=1, max_length=255)]
MediaType = Annotated[str, _matching("[a-z0-9]+/[a-z0-9][a-z0-9.+-]*", 100)]
BodyName = Annotated[str, _matching("[a-z][a-z0-9_]*", 64)]
Actor = Annotated[str, _matching("(runner|(agent|person):[!-~]+)", 256)]
Kind = Annotated[str, _matching("([a-z]+[.][a-z]+|x-[a-z0-9][a-z0-9._-]*)", 64)]


def fits(text: str, text_type: Any) -> bool:
    """Whether a text has the length and the pattern of one of the types above, such as `RunId`."""
    rule = get_args(text_type)[1]
    return len(text) <= rule.max_length and re.fullmatch(rule.extra_json_schema["pattern"], text) is not None


class EntryValue(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A value in an entry. Fields are declared alphabetically, the order in which a line contains them."""


class BodyReference(EntryValue, frozen=True, kw_only=True):
    bytes: Amount
    digest: Digest
    salted: Literal[True] | None = None
    type: MediaType


class Implementation(EntryValue, frozen=True):
    name: Label
    version: Label


class ReusedRun(EntryValue, frozen=True):
    """The earlier run whose results a run reuses."""

    head: Digest
    run: RunId


class ImportedFile(EntryValue, frozen=True):
    bytes: Amount
    digest: Digest
    name: FileName


class ImportedRecords(EntryValue, frozen=True):
    """The records of another program that a ledger was imported from."""

    check: Literal["ok", "fail", "not checked"]
    files: Annotated[tuple[ImportedFile, ...], Meta(min_length=1, max_length=100)]
    format: Literal["forum-engine", "symposium", "otel"]
    records: Amount


class TornTail(EntryValue, frozen=True):
    """The incomplete end of a file, left by a killed process, that was set aside when the ledger was opened again."""

    bytes: PositiveInt
    digest: Digest
    file: Literal["ledger.jsonl", "bodies.tar"]


class Reservation(EntryValue, frozen=True):
    """The maximum that a call may use."""

    input_tokens: Amount
    micro_usd: Amount
    output_bytes: Amount
    output_tokens: Amount


class CallUsage(EntryValue, frozen=True):
    cached_input_tokens: Amount
    input_tokens: Amount
    micro_usd: Amount
    output_bytes: Amount
    output_tokens: Amount
    wall_ms: Amount


class RunTotals(EntryValue, frozen=True):
    cached_input_tokens: Amount
    calls: Amount
    input_tokens: Amount
    micro_usd: Amount
    output_bytes: Amount
    output_tokens: Amount
    wall_ms: Amount


class TaskCounts(EntryValue, frozen=True):
    """How many tasks ended in each state."""

    cancelled: Amount
    failed: Amount
    passed: Amount
    refused: Amount
    skipped: Amount
    stopped: Amount
    tolerated: Amount

"""Run vectors: each kind of error, and backoffs."""

from collections.abc import Iterator
from typing import Any

from vector_generator.runs.case import (
    AGENTS,
    Backoff,
    Case,
    Claim,
    Count,
    EntryClaim,
    ManifestPart,
    entry,
    replace,
    workflow,
)

_TIERS: ManifestPart = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}

_WRITER: ManifestPart = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}

_TEAM: ManifestPart = {**AGENTS, "writer": _WRITER}

_ONE_TASK = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "retry": {"attempts": 2, "backoff": "1s"},
            "escalate": ["frontier"],
        }
    },
    [{"task": "do", "output": "done", "latency": "10ms"}],
    adapters=_TIERS,
    agents=_TEAM,
)

_RESERVED = {"input_tokens": 262, "output_tokens": 4096}

_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


def _attempt_claims(
    kind: str, *tiers: str, charged: bool, status: str = "error", at_once: bool = False
) -> Iterator[Claim]:
    for attempt, tier in enumerate(tiers, 1):
        yield entry("task.started", 10 * (attempt - 1) if at_once else None, task="do", attempt=attempt, tier=tier)
        data: dict[str, Any] = {"task": "do", "attempt": attempt, "status": status}
        data |= {"error": kind} if status == "error" else {}
        if kind not in ("malformed", "schema_mismatch"):
            data["usage"] = _RESERVED if charged else _NO_USAGE
        yield EntryClaim("task.finished", data)
    yield Count(len(tiers), "task.started")


_RETRIED_AFTER_BACKOFF = {"timeout": True, "network": True, "tool_failure": True, "exit_status": True,
                 "rate_limited": False, "model_unavailable": False}  # fmt: skip

_NOT_RETRIED = {"quota_exhausted": False, "auth": False, "invalid_request": False,
          "content_filter": True, "output_limit": True, "internal": True}  # fmt: skip


def _kind_claims() -> Iterator[tuple[str, str, str, tuple[Claim, ...]]]:
    """Yields the kind, the title, the reason of the task's end, and the claims."""
    for kind, charged in _RETRIED_AFTER_BACKOFF.items():
        charge = "charged" if charged else "not charged"
        claims = (*_attempt_claims(kind, "cheap", "cheap", charged=charged), Backoff("do", 2, 1, 1_000))
        yield kind, f"`{kind}` is retried after a backoff, does not escalate, and is {charge}", "error", claims
    for kind, charged in _NOT_RETRIED.items():
        charge = "charged" if charged else "not charged"
        claims = tuple(_attempt_claims(kind, "cheap", charged=charged))
        yield kind, f"`{kind}` is not retried, does not escalate, and is {charge}", "error", claims
    for kind in ("malformed", "schema_mismatch"):
        claims = (
            *_attempt_claims(kind, "cheap", "cheap", "frontier", charged=True, at_once=True),
            Count(1, "escalation.raised", {"from": "cheap", "to": "frontier"}),
        )
        title = f"`{kind}` is retried at once and escalates; an identical prompt is not sent again"
        yield kind, title, "repeated", claims
    claims = (
        *_attempt_claims("context_length", "cheap", "frontier", charged=False, at_once=True),
        Count(1, "escalation.raised", {"from": "cheap", "to": "frontier"}),
    )
    yield "context_length", "`context_length` escalates at once and is not charged", "error", claims
    claims = tuple(
        _attempt_claims("cancelled", "cheap", "cheap", "cheap", "cheap", charged=True, status="cancelled", at_once=True)
    )
    title = "A cancelled attempt is retried at once and not counted; after four in one process, the task fails"
    yield "cancelled", title, "error", claims


def _kind_cases() -> Iterator[Case]:
    for kind, title, reason, claims in _kind_claims():
        yield Case(
            f"error-{kind.replace('_', '-')}",
            title,
            (
                "RUN-ERROR-001",
                "RUN-BUDGET-005",
                *(("RUN-RETRY-001", "RUN-RETRY-002") if kind in _RETRIED_AFTER_BACKOFF else ()),
                *(("RUN-RETRY-003", "RUN-CLIMB-001") if reason == "repeated" else ()),
                *(("RUN-CLIMB-001",) if kind == "context_length" else ()),
                *(("RUN-LOST-001",) if kind == "cancelled" else ()),
            ),
            replace(_ONE_TASK, "script", "answers", 0, to={"task": "do", "error": {"kind": kind}, "latency": "10ms"}),
            (*claims, entry("task.ended", task="do", state="failed", reason=reason)),
            "failed",
            derived_from="error-none",
            change=f"every call fails with `{kind}`",
        )


_BACKOFF = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "retry": {"attempts": 5, "backoff": "3s", "max_backoff": "10s"},
        }
    },
    [
        {"attempt": 5, "output": "done"},
        {"attempt": 4, "error": {"kind": "rate_limited", "retry_after": "30s", "message": "slow down"}},
        {"attempt": 3, "error": {"kind": "rate_limited", "retry_after": "10ms"}},
        {"error": {"kind": "network"}},
    ],
)

_BACKOFFS = (
    Backoff("do", 2, 1, 3_000, 10_000),
    Backoff("do", 3, 2, 3_000, 10_000),
    Backoff("do", 4, 3, 3_000, 10_000),
    EntryClaim("task.finished", {"attempt": 3}, bodies={"detail": {"retry_after_ms": 10}}),
    EntryClaim("task.finished", {"attempt": 4}, bodies={"detail": {"message": "slow down", "retry_after_ms": 30000}}),
)

CASES: tuple[Case, ...] = (
    Case(
        "error-none",
        "A call that succeeds is made once",
        ("RUN-ERROR-001", "RUN-RETRY-001", "RUN-RETRY-002", "RUN-LOST-001", "RUN-BUDGET-005"),
        _ONE_TASK,
        (
            entry("task.finished", 10, task="do", attempt=1, status="ok", measured=False, usage=_RESERVED),
            Count(1, "task.started"),
        ),
    ),
    *_kind_cases(),
    Case(
        "backoff",
        "Backoffs double up to a limit and are shortened by jitter, unless the server asks for a longer wait",
        ("RUN-RETRY-001", "RUN-RETRY-002", "RUN-ERROR-001", "RUN-READ-006"),
        _BACKOFF,
        (*_BACKOFFS, entry("task.ended", task="do", state="passed")),
    ),
    Case(
        "backoff-and-no-more-attempts",
        "After the last attempt, there is no backoff and no further call",
        ("RUN-RETRY-001", "RUN-RETRY-002", "RUN-READ-006"),
        replace(_BACKOFF, "script", "answers", 0, to={"attempt": 5, "error": {"kind": "network"}}),
        (*_BACKOFFS, Count(5, "task.started"), entry("task.ended", task="do", state="failed", reason="error")),
        "failed",
        derived_from="backoff",
        change="the fifth attempt fails too",
    ),
)

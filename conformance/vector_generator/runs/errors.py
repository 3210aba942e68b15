"""Vectors of runs: each kind of error, and waits."""

from collections.abc import Iterator
from typing import Any

from vector_generator.runs.case import (
    AGENTS,
    Case,
    Claim,
    Count,
    Fact,
    Form,
    Waited,
    changed,
    fact,
    workflow,
)

_TIERS: Form = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}


_WRITER: Form = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}


_TEAM: Form = {**AGENTS, "writer": _WRITER}


_KIND = workflow(
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


_NOTHING = {"input_tokens": 0, "output_tokens": 0}


def _tries(kind: str, *tiers: str, charged: bool, status: str = "error", at_once: bool = False) -> Iterator[Claim]:
    for attempt, tier in enumerate(tiers, 1):
        yield fact("task.started", 10 * (attempt - 1) if at_once else None, task="do", attempt=attempt, tier=tier)
        told: dict[str, Any] = {"task": "do", "attempt": attempt, "status": status}
        told |= {"error": kind} if status == "error" else {}
        if kind not in ("malformed", "schema_mismatch"):
            told["usage"] = _RESERVED if charged else _NOTHING
        yield Fact("task.finished", told)
    yield Count(len(tiers), "task.started")


_AFTER_A_WAIT = {"timeout": True, "network": True, "tool_failure": True, "exit_status": True,
                 "rate_limited": False, "model_unavailable": False}  # fmt: skip


_NEVER = {"quota_exhausted": False, "auth": False, "invalid_request": False,
          "content_filter": True, "output_limit": True, "internal": True}  # fmt: skip


def _kind_claims() -> Iterator[tuple[str, str, str, tuple[Claim, ...]]]:
    """Kind, title, the reason that the task ends with, and claims."""
    for kind, charged in _AFTER_A_WAIT.items():
        said = "charged" if charged else "not charged"
        claims = (*_tries(kind, "cheap", "cheap", charged=charged), Waited("do", 2, 1, 1_000))
        yield kind, f"`{kind}` is retried after a wait, does not climb, and is {said}", "error", claims
    for kind, charged in _NEVER.items():
        said = "charged" if charged else "not charged"
        claims = tuple(_tries(kind, "cheap", charged=charged))
        yield kind, f"`{kind}` is not retried, does not climb, and is {said}", "error", claims
    for kind in ("malformed", "schema_mismatch"):
        claims = (
            *_tries(kind, "cheap", "cheap", "frontier", charged=True, at_once=True),
            Count(1, "escalation.raised", {"from": "cheap", "to": "frontier"}),
        )
        title = f"`{kind}` is retried at once, and climbs; a prompt that would be the same again is not sent"
        yield kind, title, "repeated", claims
    claims = (
        *_tries("context_length", "cheap", "frontier", charged=False, at_once=True),
        Count(1, "escalation.raised", {"from": "cheap", "to": "frontier"}),
    )
    yield "context_length", "`context_length` climbs at once, and is not charged", "error", claims
    claims = tuple(
        _tries("cancelled", "cheap", "cheap", "cheap", "cheap", charged=True, status="cancelled", at_once=True)
    )
    title = "A cancelled attempt is repeated at once and not counted; four in one process fail the unit"
    yield "cancelled", title, "error", claims


def _kind_cases() -> Iterator[Case]:
    for kind, title, reason, claims in _kind_claims():
        yield Case(
            f"error-{kind.replace('_', '-')}",
            title,
            (
                "RUN-ERROR-001",
                "RUN-BUDGET-005",
                *(("RUN-RETRY-001", "RUN-RETRY-002") if kind in _AFTER_A_WAIT else ()),
                *(("RUN-RETRY-003", "RUN-CLIMB-001") if reason == "repeated" else ()),
                *(("RUN-CLIMB-001",) if kind == "context_length" else ()),
                *(("RUN-LOST-001",) if kind == "cancelled" else ()),
            ),
            changed(_KIND, "script", "answers", 0, to={"task": "do", "error": {"kind": kind}, "latency": "10ms"}),
            (*claims, fact("task.ended", task="do", state="failed", reason=reason)),
            "failed",
            of="error-none",
            change=f"every call ends in `{kind}`",
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


_WAITS = (
    Waited("do", 2, 1, 3_000, 10_000),
    Waited("do", 3, 2, 3_000, 10_000),
    Waited("do", 4, 3, 3_000, 10_000),
    Fact("task.finished", {"attempt": 3}, bodies={"detail": {"retry_after_ms": 10}}),
    Fact("task.finished", {"attempt": 4}, bodies={"detail": {"message": "slow down", "retry_after_ms": 30000}}),
)


CASES: tuple[Case, ...] = (
    Case(
        "error-none",
        "A call that succeeds is made once",
        ("RUN-ERROR-001", "RUN-RETRY-001", "RUN-RETRY-002", "RUN-LOST-001", "RUN-BUDGET-005"),
        _KIND,
        (
            fact("task.finished", 10, task="do", attempt=1, status="ok", measured=False, usage=_RESERVED),
            Count(1, "task.started"),
        ),
    ),
    *_kind_cases(),
    Case(
        "backoff",
        "Waits double up to a limit, each shortened by jitter, unless the server asks for a longer wait",
        ("RUN-RETRY-001", "RUN-RETRY-002", "RUN-ERROR-001", "RUN-READ-006"),
        _BACKOFF,
        (*_WAITS, fact("task.ended", task="do", state="passed")),
    ),
    Case(
        "backoff-and-no-more-attempts",
        "When no attempts are left, there is no wait and no further call",
        ("RUN-RETRY-001", "RUN-RETRY-002", "RUN-READ-006"),
        changed(_BACKOFF, "script", "answers", 0, to={"attempt": 5, "error": {"kind": "network"}}),
        (*_WAITS, Count(5, "task.started"), fact("task.ended", task="do", state="failed", reason="error")),
        "failed",
        of="backoff",
        change="the fifth attempt fails, too",
    ),
)

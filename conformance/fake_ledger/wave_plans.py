"""Small wave plans for fake runs."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from fake_ledger.files import canonical

CHEAP: dict[str, Any] = {"tier": "cheap", "adapter": "small"}
CAPABLE: dict[str, Any] = {"tier": "capable", "adapter": "large"}

Plan = dict[str, Any]


def task(**fields: Any) -> dict[str, Any]:
    return {"agent": "worker", "ladder": [CHEAP], **fields}


def order_edge(name: str) -> dict[str, Any]:
    return {"edge": "order", "task": name}


def data_edge(source: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"edge": "data", "from": source, "as": name}


def retry(attempts: int) -> dict[str, int]:
    return {"attempts": attempts, "backoff_ms": 0, "max_backoff_ms": 0}


def wave_plan(
    tasks: Mapping[str, Any],
    waves: Sequence[Sequence[str]] | None = None,
    outputs: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    **policy: Any,
) -> Plan:
    """A small wave plan with the agents `worker` and `critic`. By default, each task is in a separate wave."""
    worker: dict[str, Any] = {"tier": "cheap", "adapters": {"cheap": "small", "capable": "large"}}
    return with_digest(
        {
            "apiVersion": "forum/v1",
            "kind": "WavePlan",
            "metadata": {"name": "by-hand"},
            "policy": {
                "max_parallel": 2,
                "dispatch": "eager",
                "budget": {},
                "allow": {"agents": ["*"], "adapters": ["*"], "commands": [], "hosts": [], "env": []},
                "retry": retry(2),
                "rates": {},
                "on_failure": "stop",
                "privacy": {"sensitive": False, "scrub_env": []},
                "durability": "none",
                **policy,
            },
            "adapters": {"small": {"type": "scripted"}, "large": {"type": "scripted"}},
            "agents": {"worker": {**worker, "limits": limits} if limits else worker, "critic": worker},
            "inputs": {},
            "schemas": {},
            "tasks": dict(tasks),
            "waves": [list(wave) for wave in waves] if waves else [[name] for name in tasks],
            "outputs": dict(outputs or {}),
        }
    )


def with_digest(plan: Mapping[str, Any]) -> Plan:
    """The plan with its digest (COMPILE-WRITE-002) and an empty bundle."""
    rest = {key: value for key, value in plan.items() if key not in ("bundle", "digest")}
    return {**rest, "digest": digest_of(rest), "bundle": []}


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()

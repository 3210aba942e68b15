"""The fingerprint of a piece of work: the same work has the same fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.execute.machine.unit import DeliveredValue
from forum_runner.wave_plan.planned_task import PlannedTask, Rung
from forum_runner.wave_plan.wave_plan_reader import WavePlan

# These settings change how an adapter is reached, or for how long, but not which model or program answers.
_IGNORED_SETTINGS = frozenset(("api_key_env", "connect_timeout_ms", "prices", "proxy_env", "stream", "timeout_ms"))


class Fingerprints:
    """Computes the fingerprints of a plan's work."""

    def __init__(self, plan: WavePlan) -> None:
        self._plan = plan
        self._agent_digests: dict[tuple[str, tuple[Rung, ...]], bytes] = {}

    def compute(
        self,
        task: PlannedTask,
        agent: str,
        ladder: tuple[Rung, ...],
        delivered: Mapping[str, DeliveredValue],
        edited: str | None = None,
    ) -> str:
        """The fingerprint of a task for this agent and this data. Sensitive values contribute their salted digests.

        `edited` is the instruction with which a person replaced the plan's.
        """
        parts = [task.work(edited), self._agent_digest(agent, ladder)]
        if task.checks:
            parts += [self._agent_digest(check.agent, ()) for check in task.checks if check.agent is not None]
        if delivered:
            parts += [_delivery_line(value) for _, value in sorted(delivered.items())]
        return sha256(b"\n".join(parts)).hexdigest()

    def _agent_digest(self, agent: str, ladder: tuple[Rung, ...]) -> bytes:
        """The digest of an agent with its adapters on the ladder. Without a ladder, it is the agent as a judge."""
        key = (agent, ladder)
        found = self._agent_digests.get(key)
        if found is None:
            planned = self._plan.agents[agent]
            document = {
                "agent": agent,
                "persona": planned.persona,
                "adapters": [[rung.tier, self._adapter(rung.adapter)] for rung in ladder or (planned.own_rung,)],
            }
            found = self._agent_digests[key] = sha256(canonical(document)).hexdigest().encode()
        return found

    def _adapter(self, name: str) -> dict[str, Any]:
        settings = self._plan.adapters[name].settings
        return {field: value for field, value in settings.items() if field not in _IGNORED_SETTINGS}


def _delivery_line(value: DeliveredValue) -> bytes:
    return canonical([value.name, value.digest, value.body.type, value.kept_bytes])

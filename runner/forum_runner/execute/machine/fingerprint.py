"""The fingerprint of a piece of work: the same work has the same fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.execute.machine.prompt_renderer import DeliveredValue
from forum_runner.wave_plan.planned_task import PlannedTask, Rung
from forum_runner.wave_plan.wave_plan_reader import WavePlan

# These settings change how an adapter is reached, or for how long, but not who answers.
_NOT_THE_ADAPTER = frozenset(("api_key_env", "connect_timeout_ms", "prices", "proxy_env", "stream", "timeout_ms"))


class Fingerprints:
    def __init__(self, plan: WavePlan) -> None:
        self._plan = plan
        self._workers: dict[tuple[str, tuple[Rung, ...]], bytes] = {}

    def of(
        self,
        task: PlannedTask,
        agent: str,
        ladder: tuple[Rung, ...],
        given: Mapping[str, DeliveredValue],
        edited: str | None = None,
    ) -> str:
        """The fingerprint of a task for this agent and this data. Sensitive values contribute their salted digests.

        `edited` is the instruction with which a person replaced the plan's.
        """
        parts = [task.work(edited), self._worker(agent, ladder)]
        if task.checks:
            parts += [self._worker(check.agent, ()) for check in task.checks if check.agent is not None]
        if given:
            parts += [_delivery(item) for _, item in sorted(given.items())]
        return sha256(b"\n".join(parts)).hexdigest()

    def _worker(self, agent: str, ladder: tuple[Rung, ...]) -> bytes:
        key = (agent, ladder)
        found = self._workers.get(key)
        if found is None:
            own = self._plan.agents[agent]
            document = {
                "agent": agent,
                "persona": own.persona,
                "adapters": [[rung.tier, self._adapter(rung.adapter)] for rung in ladder or (own.own_rung,)],
            }
            found = self._workers[key] = sha256(canonical(document)).hexdigest().encode()
        return found

    def _adapter(self, name: str) -> dict[str, Any]:
        settings = self._plan.adapters[name].settings
        return {field: value for field, value in settings.items() if field not in _NOT_THE_ADAPTER}


def _delivery(item: DeliveredValue) -> bytes:
    return canonical([item.name, item.digest, item.body.type, item.kept_bytes])

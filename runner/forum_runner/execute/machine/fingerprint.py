"""The fingerprint of a piece of work: what it is made of. The same fingerprint, the same work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.execute.machine.prompt_renderer import DeliveredValue
from forum_runner.execute.machine.run_plan import Rung, RunPlan, TaskSpec, work_in

# What changes how an adapter is reached, or for how long, and not who answers.
_NOT_THE_ADAPTER = frozenset(("api_key_env", "connect_timeout_ms", "prices", "proxy_env", "stream", "timeout_ms"))


class Fingerprints:
    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._workers: dict[tuple[str, tuple[Rung, ...]], bytes] = {}

    def of(
        self,
        task: TaskSpec,
        agent: str,
        ladder: tuple[Rung, ...],
        given: Mapping[str, DeliveredValue],
        edited: str | None = None,
    ) -> str:
        """Of a task that `agent` does with these data; a sensitive value goes in by its salted digest alone.

        `edited` is what a person put in the place of the instruction.
        """
        work = task.work if edited is None else work_in({**task.form, "instruction": [edited]})
        parts = [work, self._worker(agent, ladder)]
        if task.accept:
            parts += [self._worker(check["agent"], ()) for check in task.accept if "agent" in check]
        if given:
            parts += [_hand_over(item) for _, item in sorted(given.items())]
        return sha256(b"\n".join(parts)).hexdigest()

    def _worker(self, agent: str, ladder: tuple[Rung, ...]) -> bytes:
        key = (agent, ladder)
        found = self._workers.get(key)
        if found is None:
            steps = ladder or (self._plan.judge_step(agent),)
            form = {
                "agent": agent,
                "persona": self._plan.agents[agent].get("persona", ""),
                "adapters": [[step.tier, self._adapter(step.adapter)] for step in steps],
            }
            found = self._workers[key] = sha256(canonical(form)).hexdigest().encode()
        return found

    def _adapter(self, name: str) -> dict[str, Any]:
        return {field: value for field, value in self._plan.adapters[name].items() if field not in _NOT_THE_ADAPTER}


def _hand_over(item: DeliveredValue) -> bytes:
    facts: Iterable[Any] = (item.name, item.digest, item.body.type, item.kept_bytes)
    return canonical(list(facts))

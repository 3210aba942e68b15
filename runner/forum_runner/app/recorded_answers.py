"""An earlier run whose recorded answers a new run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from forum_adapters.base import Adapter, Attempt, Predictable, Prompt, Reply
from forum_runner.app.open_run import opening_entry
from forum_runner.execute.replay import recorded_calls
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.verifier import WITHOUT_SEAL, verify_run


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """An earlier run, and its calls with their recorded answers."""

    directory: Path
    run: str
    calls: Sequence[Mapping[str, Any]]


def recorded_run(source: LedgerSource) -> RecordedRun:
    """Reads the calls of a run. Refuses an invalid ledger. The latency of the calls is 0: they are not made again."""
    directory, _ = verify_run(source, "reading answers needs the run directory", WITHOUT_SEAL)
    opened = opening_entry(directory)
    calls = [{**call, "latency_ms": 0} for call in recorded_calls(directory)]
    return RecordedRun(directory.absolute(), opened.run, calls)


class RecordedPromptAdapter:
    """Rewrites each prompt as the earlier run would have recorded it: with its run id, and with secrets scrubbed.

    This lets the wrapped adapter find the recorded answer.
    """

    def __init__(self, adapter: Adapter, recorded_run_id: str, scrubber: Scrubber) -> None:
        self._adapter = adapter
        self._recorded_run_id = recorded_run_id
        self._scrubber = scrubber

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        if not isinstance(self._adapter, Predictable):
            raise TypeError(f"{type(self._adapter).__name__} does not implement Predictable")
        return self._adapter.predict(self._as_recorded(attempt))

    async def answer(self, attempt: Attempt) -> Reply:
        return await self._adapter.answer(self._as_recorded(attempt))

    async def probe(self) -> str | None:
        return await self._adapter.probe()

    async def close(self) -> None:
        await self._adapter.close()

    def _as_recorded(self, attempt: Attempt) -> Attempt:
        prompt = attempt.prompt
        new_id, recorded_id, scrub = attempt.run, self._recorded_run_id, self._scrubber.scrub_text
        rewritten = Prompt(
            scrub(prompt.system).replace(new_id, recorded_id),
            scrub(prompt.text).replace(new_id, recorded_id),
            tuple(scrub(argument).replace(new_id, recorded_id) for argument in prompt.argv),
            self._scrubber.scrub_bytes(prompt.stdin).replace(new_id.encode(), recorded_id.encode()),
            prompt.output_schema,
        )
        return structs.replace(attempt, prompt=rewritten)

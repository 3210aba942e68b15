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
    """Calls an adapter with the prompt that the earlier run recorded: with its run id, and with secrets scrubbed."""

    def __init__(self, adapter: Adapter, run: str, scrubber: Scrubber) -> None:
        self._adapter = adapter
        self._run = run
        self._scrubber = scrubber

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        if not isinstance(self._adapter, Predictable):
            raise TypeError("recorded answers must be predictable")
        return self._adapter.predict(self._with_recorded_prompt(attempt))

    async def answer(self, attempt: Attempt) -> Reply:
        return await self._adapter.answer(self._with_recorded_prompt(attempt))

    async def probe(self) -> str | None:
        return await self._adapter.probe()

    async def close(self) -> None:
        await self._adapter.close()

    def _with_recorded_prompt(self, attempt: Attempt) -> Attempt:
        prompt = attempt.prompt
        run, recorded, scrub = attempt.run, self._run, self._scrubber.scrub_text
        recorded_prompt = Prompt(
            scrub(prompt.system).replace(run, recorded),
            scrub(prompt.text).replace(run, recorded),
            tuple(scrub(argument).replace(run, recorded) for argument in prompt.argv),
            self._scrubber.scrub_bytes(prompt.stdin).replace(run.encode(), recorded.encode()),
            prompt.output_schema,
        )
        return structs.replace(attempt, prompt=recorded_prompt)

"""The interface of engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from forum_adapters.base import Attempt
from forum_runner.execute.call_report import Lost, Replied


class Engine(Protocol):
    """Carries out attempts, here or elsewhere. It never repeats one: retries are the runner's decision.

    An engine reports each attempt once: its reply, or that its outcome is unknown. The runner checks every report.
    All methods are called in the event loop of the run.
    """

    def attach(self, wake: Callable[[], None]) -> None:
        """Call `wake` in the event loop whenever there are new reports."""
        ...

    def begin(self, attempt: Attempt) -> None:
        """Start an attempt without waiting for it. An exception means that it did not start."""
        ...

    def cancel(self, call: str) -> None:
        """End the call with this id. It is still reported, with a failure of the kind `cancelled`."""
        ...

    def reports(self) -> Sequence[Replied | Lost]:
        """Return the reports that have not been returned yet."""
        ...

    async def close(self) -> None:
        """End everything that is still running."""
        ...

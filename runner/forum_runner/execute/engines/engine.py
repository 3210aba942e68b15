"""The seam between deciding and doing: an engine is given an attempt, and reports its reply, or that it was lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from forum_adapters.base import Attempt
from forum_runner.execute.machine.events import Lost, Replied


class Engine(Protocol):
    """Carries out attempts, here or elsewhere. It never makes one twice by itself.

    Whatever was begun is reported: a reply, or that nobody knows. A report that comes twice does no harm.
    """

    def attach(self, wake: Callable[[], None]) -> None:
        """`wake` is to be called, in the event loop, whenever there is something to report."""
        ...

    def begin(self, attempt: Attempt) -> None: ...

    def cancel(self, call: str) -> None:
        """Ends a call that is under way; its end is still reported."""
        ...

    def reports(self) -> list[Replied | Lost]:
        """What there is to report, each thing once."""
        ...

    async def close(self) -> None:
        """Ends everything that is still under way."""
        ...

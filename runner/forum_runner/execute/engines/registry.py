"""Finds engines by name: forum's own, and entry points of other packages."""

from __future__ import annotations

from collections.abc import Callable

from forum_adapters.plugins import PluginGroup
from forum_runner.execute.engines.engine import Engine

ENGINES = PluginGroup(
    group="forum.engines",
    noun="engine",
    methods=("attach", "begin", "cancel", "reports", "close"),
    own={
        "local": "forum_runner.execute.engines.local:LocalEngine",
        "process": "forum_runner.execute.engines.process:ProcessEngine",
    },
    internal={},
)


def engine_factory(name: str) -> Callable[[], Engine]:
    return ENGINES.factory(name, "it")

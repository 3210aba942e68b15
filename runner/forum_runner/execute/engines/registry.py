"""Engines by name: forum's own, and those that other packages provide as entry points."""

from __future__ import annotations

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


def make_engine(name: str) -> Engine:
    engine: Engine = ENGINES.make(name, "it")
    return engine

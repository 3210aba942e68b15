"""Engines carry out attempts: in this process, in worker processes, or as other packages define."""

from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.engines.coroutine_engine import failure_reply
from forum_runner.execute.engines.engine import Engine
from forum_runner.execute.engines.local import LocalEngine, MakeAdapter
from forum_runner.execute.engines.registry import ENGINES, engine_factory
from forum_runner.execute.engines.reply_check import checked_reply

__all__ = [
    "ENGINES",
    "Engine",
    "LocalEngine",
    "Lost",
    "MakeAdapter",
    "Replied",
    "checked_reply",
    "engine_factory",
    "failure_reply",
]

"""Replays a run from its ledger and compares."""

from forum_runner.execute.replay.comparison import ReplayDivergence
from forum_runner.execute.replay.recorded_replies import recorded_calls
from forum_runner.execute.replay.replayer import Replayer, ReplayResult

__all__ = ["ReplayDivergence", "ReplayResult", "Replayer", "recorded_calls"]

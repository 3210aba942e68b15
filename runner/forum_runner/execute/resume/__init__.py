"""Restores a run from its ledger."""

from forum_runner.execute.resume.restore import RunStart, StateRestorer, read_run_start
from forum_runner.execute.resume.resume_summary import taken_up

__all__ = ["RunStart", "StateRestorer", "read_run_start", "taken_up"]

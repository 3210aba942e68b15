"""Restores a run from its ledger."""

from forum_runner.execute.resume.restore import RunStart, StateRestorer, read_run_start
from forum_runner.execute.resume.resume_summary import describe_resume

__all__ = ["RunStart", "StateRestorer", "describe_resume", "read_run_start"]

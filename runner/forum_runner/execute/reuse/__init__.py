"""Finds results of earlier runs that may be reused."""

from forum_runner.execute.reuse.earlier_run import NOT_THERE, Cache, Comparison, EarlierRun, GivenRun, ResultCache

__all__ = ["NOT_THERE", "Cache", "Comparison", "EarlierRun", "GivenRun", "ResultCache"]

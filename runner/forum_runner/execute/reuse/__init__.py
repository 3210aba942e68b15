"""Finds results of earlier runs that may be reused."""

from forum_runner.execute.reuse.cache import DirectoryCache, ResultCache, RunCache
from forum_runner.execute.reuse.earlier_run import NOT_THERE, EarlierRun, ReuseComparison

__all__ = ["NOT_THERE", "DirectoryCache", "EarlierRun", "ResultCache", "ReuseComparison", "RunCache"]

"""Finds results of earlier runs that may be reused."""

from forum_runner.execute.reuse.cache import DirectoryCache, ResultCache, RunCache
from forum_runner.execute.reuse.earlier_run import EarlierRun, ReuseComparison

__all__ = ["DirectoryCache", "EarlierRun", "ResultCache", "ReuseComparison", "RunCache"]

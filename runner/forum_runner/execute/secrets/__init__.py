"""Keeps secrets out of the record."""

from forum_runner.execute.secrets.scrubber import LEAST_CHARACTERS, Scrubber

__all__ = ["LEAST_CHARACTERS", "Scrubber"]

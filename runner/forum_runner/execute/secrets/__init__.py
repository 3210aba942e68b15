"""Removes secrets from records."""

from forum_runner.execute.secrets.scrubber import LEAST_CHARACTERS, Scrubber

__all__ = ["LEAST_CHARACTERS", "Scrubber"]

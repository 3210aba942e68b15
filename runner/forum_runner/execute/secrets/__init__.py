"""Removes secrets from records."""

from forum_runner.execute.secrets.scrubber import MIN_SECRET_CHARACTERS, Scrubber

__all__ = ["MIN_SECRET_CHARACTERS", "Scrubber"]

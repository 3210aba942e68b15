"""Finds results of earlier runs that may be reused."""

"""Keeps secrets out of the record."""

"""Vectors of canonical bytes."""

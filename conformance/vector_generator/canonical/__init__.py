"""Vectors of the canonical form."""

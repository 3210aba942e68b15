"""Vectors of ledgers: valid, incomplete, and one mutation each."""

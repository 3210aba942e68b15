"""Vectors of deterministic runs: bundle and script in, ledger out."""

"""Vectors of checkpoints and proofs."""

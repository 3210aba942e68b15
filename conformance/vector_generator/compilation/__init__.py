"""Compile vectors: bundles and their wave plans."""

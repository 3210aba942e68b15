"""Reads, validates and resolves manifests. The compiler interprets them."""

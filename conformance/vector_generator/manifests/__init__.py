"""Manifest vectors: valid bundles, and bundles with one fault."""

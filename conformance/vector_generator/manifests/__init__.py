"""Vectors of manifests: sound ones, and one fault each."""

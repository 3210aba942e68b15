"""Vectors of compiling: bundle in, wave plan out."""

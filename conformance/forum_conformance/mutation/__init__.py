"""Mutants of valid run directories: what a verifier has to object to, and what no verifier can see alone."""

"""Mutants of valid run directories: those a verifier must reject, and those it cannot detect alone."""

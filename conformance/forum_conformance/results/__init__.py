"""Results of a suite run: for people, for CI, and for badges."""

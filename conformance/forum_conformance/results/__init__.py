"""What came of a suite: for people, for CI, and for a badge."""

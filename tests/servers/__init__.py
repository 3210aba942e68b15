"""Model servers for tests: one with programmable faults, and a real one with a small model."""

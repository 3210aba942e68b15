"""Model servers for tests: one that fails as it is told, and a real one with a small model."""

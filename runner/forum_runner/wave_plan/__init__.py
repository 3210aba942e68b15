"""The wave plan as typed values: the only reader of its document."""

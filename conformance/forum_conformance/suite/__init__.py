"""The conformance suite: asks a program every vector, and compares what comes with what must come."""

"""The conformance suite: send every vector to a program and compare the answers with the expected ones."""

"""The conformance suite: ask a program every vector and compare the answers with the expected ones."""

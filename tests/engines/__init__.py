"""Engines and adapters for tests: some lose calls, block, crash or leak."""

"""The judge and the conformance suite: judges any ledger and any implementation, and shares no code with the runner."""

__version__ = "0.1.0"

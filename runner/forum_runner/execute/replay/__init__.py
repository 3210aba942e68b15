"""Replays a run from its ledger and compares."""

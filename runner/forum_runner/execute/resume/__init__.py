"""Restores a run from its ledger."""

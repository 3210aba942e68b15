"""Imports records of other programs into a ledger: reads, checks and orders them.

A source is read completely before the ledger is created, so that an unreadable source leaves nothing behind.
"""

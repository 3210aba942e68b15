"""Drives a machine, in real or in virtual time, and writes its entries."""

"""Carry out attempts."""

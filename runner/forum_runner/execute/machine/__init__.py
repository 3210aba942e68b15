"""Decides what a run does next: events in, entries and commands out."""

"""Engines for tests: attempts that are carried out in other processes, some of which are lost."""

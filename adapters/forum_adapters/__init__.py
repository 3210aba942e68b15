"""Adapters for programs, model servers and scripts. This package imports neither the runner nor the suite."""

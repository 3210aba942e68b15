"""Connections to what does the work: programs, model servers, scripts. Imports neither the runner nor the suite."""

"""The history of a run: one fold over its entries, which all reports and displays read."""

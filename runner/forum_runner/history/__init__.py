"""The run that a ledger describes: one fold over its entries, which all reports and displays read."""

"""The ledger: an append-only, hash-chained record of a run, and everything that checks it."""

"""The fast verifier: five levels, one pass over the ledger, one over its bodies."""

"""Run directories written from docs/spec/ledger.md alone, for the vector generator and the tests."""

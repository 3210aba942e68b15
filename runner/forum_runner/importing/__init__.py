"""Records of other programs on their way into a ledger: read, checked as far as they can be, and set down in order.

A source is read to its end before a ledger is begun: what cannot be read leaves nothing behind.
"""

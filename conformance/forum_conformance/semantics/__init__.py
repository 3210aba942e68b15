"""Level 4: check that the entries describe a valid run of their wave plan."""

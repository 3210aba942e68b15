"""Level 4: checks that the entries record a valid run of the wave plan."""

"""Level 4: the entries, read in order against the wave plan, tell a lawful run of it, or the first that does not."""

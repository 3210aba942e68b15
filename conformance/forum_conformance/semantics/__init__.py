"""Level 4: whether the entries tell a lawful run of their wave plan."""

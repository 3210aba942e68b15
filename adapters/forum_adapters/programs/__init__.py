"""What the command adapter is made of: programs, their output, and processes that leave nothing running behind."""

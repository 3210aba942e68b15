"""The parts of the command adapter: finding programs, running them, capturing output, ending process trees."""

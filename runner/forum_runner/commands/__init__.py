"""One module per command: parses arguments, makes one API call, and prints text or JSON."""

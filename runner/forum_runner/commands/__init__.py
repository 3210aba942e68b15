"""One module for each command: arguments in, an application function, text out."""

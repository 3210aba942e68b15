"""Small sets of vectors, and a program that answers them from a table."""

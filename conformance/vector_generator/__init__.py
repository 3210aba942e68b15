"""Generate the vectors of the suite: `python -m vector_generator`. Not installed; nothing in it imports the runner."""

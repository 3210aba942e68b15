"""forum: runs agent work and command work from checked-in files, and leaves a record that a stranger can check."""

__version__ = "0.1.0"

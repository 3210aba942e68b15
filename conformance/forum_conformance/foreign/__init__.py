"""Records of other programs: how to recognize them, and what can be checked."""

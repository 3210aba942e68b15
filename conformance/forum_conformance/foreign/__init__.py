"""Records of other programs: what they are recognised by, and what can be said of them."""

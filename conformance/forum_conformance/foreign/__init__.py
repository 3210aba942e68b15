"""Records of other programs: how to recognize and check them."""

"""Compiles manifests to a wave plan: check, expand, layer, write. Pure: no I/O."""

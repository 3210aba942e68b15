"""From manifests to the wave plan: check, expand, layer, write. Pure: all that it knows comes in as values."""

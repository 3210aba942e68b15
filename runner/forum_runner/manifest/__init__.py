"""From bytes to manifests: reading, validating, resolving. What a plan means is the compiler's business."""

"""What the adapters for model servers share: one question over HTTP, however the server writes its answer."""

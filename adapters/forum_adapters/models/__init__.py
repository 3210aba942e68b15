"""The shared parts of the adapters for model servers: one request over HTTP, in any API format."""

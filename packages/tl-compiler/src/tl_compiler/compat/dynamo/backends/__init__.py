"""`torch._dynamo.backends`: the backends of `compile` that come with it, and their registry."""

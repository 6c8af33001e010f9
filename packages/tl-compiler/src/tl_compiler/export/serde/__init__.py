"""`.pt2` files: exported programs as JSON and raw tensors. Reading one executes nothing that stands in it."""

"""The backends of `compile`."""

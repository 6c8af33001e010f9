"""What generated code would need while it runs."""

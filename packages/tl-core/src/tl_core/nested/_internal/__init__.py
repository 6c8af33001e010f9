"""Names under which programs reach the parts of nested tensors, as they do in PyTorch."""

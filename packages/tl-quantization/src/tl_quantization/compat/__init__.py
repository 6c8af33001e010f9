"""Names of PyTorch's internals, for programs that use them."""

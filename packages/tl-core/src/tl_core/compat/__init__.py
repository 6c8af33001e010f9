"""Private names of PyTorch's core that libraries import, defined over the code of this package: see README.md."""

"""Private and retired names of `torch.nn` and `torch.optim`."""

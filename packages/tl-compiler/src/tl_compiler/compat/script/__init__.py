"""Private names of `torch.jit`."""

"""Programs of libraries that are written for PyTorch, run on tl where no torch is installed."""

"""TorchScript: programs in archives, which run without the code of their authors. `torch.jit` has the names."""

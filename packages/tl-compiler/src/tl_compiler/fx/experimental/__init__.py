"""Symbolic sizes and the recording of operators, under the names of `torch.fx.experimental`."""

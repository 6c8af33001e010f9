"""Drawn calls of ATen's operators, run by PyTorch and by tl."""

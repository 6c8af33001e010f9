"""Drawn programs of views, writes and gradients, run by PyTorch and by tl."""

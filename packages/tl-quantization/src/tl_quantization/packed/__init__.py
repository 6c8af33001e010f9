"""Weights in the order in which the integer kernels read them."""

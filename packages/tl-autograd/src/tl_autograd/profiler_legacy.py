"""The former place of `profile`."""

from tl_autograd.profiler import profile

__all__ = ["profile"]

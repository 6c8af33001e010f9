"""The transforms under an older name."""

from tl_autograd.func import grad, grad_and_value, vmap
from tl_autograd.func.vmap import chunk_vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]

"""Operators of neural networks that the reference keeps beside its modules, not in the flat namespace."""

from typing import TYPE_CHECKING, Any

from tl_core import _C

__all__ = [name for name in vars(_C._nn) if not name.startswith("_")]
globals().update({name: f for name, f in vars(_C._nn).items() if not name.startswith("__")})

if TYPE_CHECKING:
    # Public functions of `nn.functional`, with their types.
    gelu, linear, log_sigmoid = _C._nn.gelu, _C._nn.linear, _C._nn.log_sigmoid
    scaled_dot_product_attention = _C._nn.scaled_dot_product_attention
    softplus, softshrink = _C._nn.softplus, _C._nn.softshrink

    def __getattr__(name: str) -> Any: ...

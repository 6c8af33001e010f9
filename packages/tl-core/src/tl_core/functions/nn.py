"""Operators of neural networks that the reference keeps beside its modules, not in the flat namespace."""

from typing import TYPE_CHECKING, Any

from tl_core import _C

__all__ = [name for name in vars(_C._nn) if not name.startswith("_")]
globals().update({name: f for name, f in vars(_C._nn).items() if not name.startswith("__")})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

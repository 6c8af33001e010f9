"""Operators of neural networks that the reference keeps beside its modules, not in the flat namespace."""

from tl_core import _C

globals().update({name: f for name, f in vars(_C._nn).items() if not name.startswith("__")})

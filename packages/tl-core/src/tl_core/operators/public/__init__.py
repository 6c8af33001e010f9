"""The operators that others know in place of those that only this library has.

Kernels and formulas of derivatives are rows of our own, such as the adjoint of a pool. Handlers of
`__torch_dispatch__`, and graphs that people read, save or hand to other tools, have in their place what PyTorch's have.
"""

from __future__ import annotations

from . import (
    attention,
    convolutions,
    distances,
    losses,
    norms,
    pools,
    products,
    sampling,
    shapes,
    solvers,
    sparse,
    strides,
)
from .dimensions import public_call
from .formula import FORMULAS, Recording

__all__ = ["FORMULAS", "Recording", "public_call"]

"""Types of tensors as values of z3. Using a name of this module needs the package z3-solver."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

__all__: list[str] = []
_NAMES = ("D", "dim", "tensor_type", "z3_dyn")  # made when they are asked for, by the library


@functools.cache
def _build_types() -> dict[str, Any]:
    z3: Any = import_module("z3")
    # A size: whether it is known, and the number.
    dim: Any = z3.Datatype("dim")
    dim.declare("dim", ("known", z3.IntSort()), ("value", z3.IntSort()))
    dim = dim.create()
    # A type: unknown, or the sizes of a tensor.
    tensor_type: Any = z3.Datatype("TensorType")
    tensor_type.declare("Dyn")
    for rank in range(5):
        tensor_type.declare(f"tensor{rank}", *((f"d{rank}_{i}", dim) for i in range(rank)))
    tensor_type = tensor_type.create()
    return {"D": dim.dim, "dim": dim, "tensor_type": tensor_type, "z3_dyn": tensor_type.Dyn}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return _build_types()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

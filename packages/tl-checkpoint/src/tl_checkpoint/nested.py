"""Nested tensors in files: their parts, and their reconstruction."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.symbolic.dim_range import DimRange

from .globals import Global
from .unfinished import Unfinished

__all__ = ["attributes", "is_nested", "find", "jagged", "parts", "strided"]

_PARTS = ("_lengths", "_metadata_cache", "_offsets", "_ragged_idx", "_size", "_strides", "_values")


def is_nested(kind: type) -> bool:
    """Whether tensors of a class are nested. The nested classes are not imported."""
    return isinstance(getattr(kind, "is_nested", None), property)


def parts(t: Any) -> tuple[str, tuple[Any, ...]]:
    """PyTorch's function that rebuilds a nested tensor, and its arguments."""
    values = t.detach().values()
    if t.layout is tl_core.jagged:
        state = {
            "values": values,
            "offsets": t.offsets(),
            "lengths": t.lengths(),
            "_ragged_idx": t._ragged_idx,
            "_metadata_cache": {},
            "requires_grad": t.requires_grad,
        }
        return "torch.nested._internal.nested_tensor._rebuild_njt", (state,)
    values = values.requires_grad_() if t.requires_grad else values
    geometry = (t._nested_tensor_size(), t._nested_tensor_strides(), t._nested_tensor_storage_offsets())
    return "torch._utils._rebuild_nested_tensor", (values, *geometry)


def jagged(state: Any) -> Any:
    """A nested tensor of the layout `torch.jagged`, after a check of its offsets."""
    if type(state) is not dict or not {"values", "offsets"} <= set(state):
        raise pickle.UnpicklingError("a nested tensor's parts are damaged")
    values, offsets, lengths = state["values"], state["offsets"], state.get("lengths")
    at, requires_grad = state.get("_ragged_idx", 1), state.get("requires_grad", False)
    tensors = [t for t in (values, offsets, lengths) if t is not None]
    if not all(isinstance(t, tl_core.Tensor) for t in tensors) or type(at) is not int:
        raise pickle.UnpicklingError("a nested tensor's parts are no tensors")
    from tl_core.nested.pickling import rebuild_jagged

    try:
        return rebuild_jagged(values, offsets, lengths, at, bool(requires_grad))
    except ValueError as error:
        raise pickle.UnpicklingError(str(error)) from error


class _DimRange(Unfinished):
    """Placeholder of a mark for `torch.compile` on a size of a tensor."""

    def finish(self, state: Any) -> DimRange:
        """The mark."""
        if type(state) is not list or len(state) != 3 or not all(type(n) in (int, type(None)) for n in state):
            raise pickle.UnpicklingError("a dimension's range must be three numbers")
        return DimRange(*state)


def find(path: str) -> Any:
    """The entry for a global of nested tensors in a file; None for all others.

    Args:
        path: PyTorch's path, as in the file.
    """
    if path == "torch.nested._internal.nested_tensor.NestedTensor":
        from tl_core.nested.tensor import NestedTensor

        return NestedTensor
    return Global(path, _MADE[path]) if path in _MADE else None


def attributes(state: Any) -> Any:
    """The attributes that a program has set on a jagged tensor; PyTorch keeps its parts among them.

    Args:
        state: the attributes that the pickle holds.
    """
    return {k: v for k, v in state.items() if k not in _PARTS} if type(state) is dict else state


def strided(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Any:
    """A nested tensor of the layout `torch.strided`, after a check of its components.

    Args:
        buffer: the elements of all components.
        sizes: a row of sizes for each component.
        strides: a row of strides for each.
        offsets: the first element of each component.
    """
    if not all(isinstance(t, tl_core.Tensor) for t in (buffer, sizes, strides, offsets)):
        raise pickle.UnpicklingError("a nested tensor's parts are no tensors")
    from tl_core.nested.strided_operators import rebuild_strided

    try:
        tensor = rebuild_strided(buffer, sizes, strides, offsets)
    except (ValueError, TypeError) as error:
        raise pickle.UnpicklingError(str(error)) from error
    return tensor.requires_grad_() if buffer.requires_grad else tensor


_MADE: dict[str, Callable[..., Any]] = {
    "torch._dynamo.decorators._DimRange": _DimRange,
    "torch._utils._rebuild_nested_tensor": strided,
    "torch.nested._internal.nested_tensor._rebuild_njt": jagged,
}

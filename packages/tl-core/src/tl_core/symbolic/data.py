"""Tensors whose elements are symbolic numbers, for programs that are recorded or run on fakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.symbolic.numbers import SymBool, SymFloat

__all__ = ["tensor_of_symbols"]


def tensor_of_symbols(data: Any, dtype: Any, device: Any) -> Tensor:
    """What `tensor` makes of nested lists with symbolic numbers among them: operators that keep the symbols.

    Args:
        data: a number, or lists of numbers and tensors.
        dtype: the type of the elements; None: as for plain numbers.
        device: where the tensor lies.
    """
    return _stack_nested(data, dtype or _dtype_of(data), device)


def _stack_nested(data: Any, dtype: Any, device: Any) -> Tensor:
    if isinstance(data, (list, tuple)):
        return _C.stack([_stack_nested(item, dtype, device) for item in data])
    if isinstance(data, Tensor):
        return data.detach().to(device, dtype)
    return _C.scalar_tensor(data, dtype=dtype, device=device)


def _numbers(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _numbers(item)
    else:
        yield data


def _dtype_of(data: Any) -> Any:
    """The type that holds all elements."""
    dtypes = [_dtype_of_number(x) for x in _numbers(data)]
    common = dtypes[0]
    for dtype in dtypes[1:]:
        common = _C.promote_types(common, dtype)
    return common


def _dtype_of_number(x: Any) -> Any:
    if isinstance(x, (bool, SymBool)):
        return _C.bool
    if isinstance(x, (float, SymFloat)):
        return _C.get_default_dtype()
    return x.dtype if isinstance(x, Tensor) else _C.tensor(x).dtype if isinstance(x, complex) else _C.int64

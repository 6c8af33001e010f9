"""Indices of fakes that hold symbolic numbers, as single operators."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.ops
from tl_core.symbolic_numbers import SymInt

__all__ = ["indexed"]


def indexed(x: Any, index: Any) -> Any:
    """The part of a fake that an index names.

    Args:
        x: the fake.
        index: as `x[index]` takes it.

    Raises:
        NotImplementedError: symbolic numbers stand beside tensors in the index.
    """
    items = index if isinstance(index, tuple) else (index,)
    if not any(_is_symbolic(i) for i in items):
        return tl_core.Tensor.__getitem__(x, index)
    ops = tl_core.ops.aten
    given = sum(1 for i in items if i is not None and i is not Ellipsis)
    dim = 0
    for i in items:
        if i is Ellipsis:
            dim += x.ndim - dim - (given - _before_ellipsis(items))
        elif i is None:
            x, dim = ops.unsqueeze.default(x, dim), dim + 1
        elif isinstance(i, slice):
            x, dim = _sliced(x, dim, i), dim + 1
        elif isinstance(i, (int, SymInt)) and not isinstance(i, bool):
            x = ops.select.int(x, dim, i)
        else:
            raise NotImplementedError("symbolic indices beside tensors: index in two steps")
    return x


def _sliced(x: Any, dim: int, i: slice) -> Any:
    if i == slice(None):
        return x
    start = 0 if i.start is None else i.start
    stop = (1 << 63) - 1 if i.stop is None else i.stop
    return tl_core.ops.aten.slice.Tensor(x, dim, start, stop, 1 if i.step is None else i.step)


def _before_ellipsis(items: tuple[Any, ...]) -> int:
    count = 0
    for i in items:
        if i is Ellipsis:
            break
        count += i is not None
    return count


def _is_symbolic(i: Any) -> bool:
    if isinstance(i, SymInt):
        return True
    return isinstance(i, slice) and any(isinstance(p, SymInt) for p in (i.start, i.stop, i.step))

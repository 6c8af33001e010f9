"""Indices of fakes with symbolic sizes, as operators: what the sizes of the example leave out is recorded as well."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymInt

__all__ = ["assign", "index_fake"]

Tensor = tl_core.Tensor
_END = (1 << 63) - 1
_MASKS = (tl_core.bool, tl_core.uint8)


def index_fake(x: Any, index: Any) -> Any:
    """The part of a fake that an index names.

    Args:
        x: the fake.
        index: as `x[index]` takes it.
    """
    items = _items(index)
    if not _concerns(x, items):
        return Tensor.__getitem__(x, index)
    walk = _Walk(x, items)
    if walk.indices:
        return tl_core.operators.packets.aten.index.Tensor(walk.view, walk.indices)
    return tl_core.operators.packets.aten.alias.default(x) if walk.view is x else walk.view


def assign(x: Any, index: Any, value: Any) -> None:
    """Writes to the part of a fake that an index names.

    Args:
        x: the fake.
        index: as `x[index] = value` takes it.
        value: a tensor or a number.
    """
    items = _items(index)
    if not _concerns(x, items):
        Tensor.__setitem__(x, index, value)
        return
    walk = _Walk(x, items)
    if not walk.indices:
        Tensor.__setitem__(walk.view, ..., value)
    else:
        if not isinstance(value, Tensor):
            value = tl_core.full((), value, dtype=x.dtype, device=x.device)
        tl_core.operators.packets.aten.index_put_.default(walk.view, walk.indices, value)


def _items(index: Any) -> tuple[Any, ...]:
    if isinstance(index, list) and len(index) < 32 and any(_is_item(i) for i in index):
        return tuple(index)  # a short list that holds more than numbers is the tuple of its items
    return index if isinstance(index, tuple) else (index,)


def _is_item(i: Any) -> bool:
    return i is None or i is Ellipsis or isinstance(i, (slice, Tensor, list, tuple))


def _concerns(x: Any, items: tuple[Any, ...]) -> bool:
    """Whether a size of the tensor, or a number of the index, is an expression."""
    return x.symbolic is not None or any(_is_symbolic(i) for i in items)


def _is_symbolic(i: Any) -> bool:
    if isinstance(i, SymInt):
        return True
    return isinstance(i, slice) and any(isinstance(p, SymInt) for p in (i.start, i.stop, i.step))


class _Walk:
    """An index, one item after the other.

    Args:
        x: the tensor.
        items: the items of the index.

    Attributes:
        view: the part that slices and numbers name.
        indices: the tensors for `index` on it.
    """

    def __init__(self, x: Any, items: tuple[Any, ...]) -> None:
        self.view = x
        self.indices: list[Any] = []
        self._rank, self._at = x.ndim, 0
        self._named = sum(_dimensions(i) for i in items)
        for i in items:
            self._step(i)

    def _step(self, i: Any) -> None:
        ops = tl_core.operators.packets.aten
        if isinstance(i, slice):
            self._need(1)
            self._slice(i)
        elif i is None:
            self.view, self._at = ops.unsqueeze.default(self.view, self._at), self._at + 1
        elif i is Ellipsis:
            self._at += self._rank - self._named
        elif isinstance(i, bool):
            self.view = ops.unsqueeze.default(self.view, self._at)
            self._put(tl_core.full((1,), i, dtype=tl_core.bool, device=self.view.device), 1)
        elif isinstance(i, Tensor) or hasattr(i, "__len__"):
            self._tensor(i if isinstance(i, Tensor) else _tensor_of(i))
        else:
            self._need(1)
            self.view = ops.select.int(self.view, self._at, _number(i))

    def _tensor(self, t: Any) -> None:
        if t.ndim == 0 and not isinstance(t, FakeTensor) and not t.is_meta:
            self._step(bool(t) if t.dtype in _MASKS else int(t))
            return
        dims = t.ndim if t.dtype in _MASKS else 1
        self._need(dims)
        self._put(t, dims)

    def _need(self, dims: int) -> None:
        if self._rank == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        if self._at + dims > self.view.ndim:
            raise IndexError(f"too many indices for tensor of dimension {self._rank}")

    def _slice(self, i: slice) -> None:
        start, stop, step = (None if p is None else _number(p) for p in (i.start, i.stop, i.step))
        if isinstance(step, int) and step <= 0:
            raise ValueError("step must be greater than zero")
        if (start, stop, step) not in ((None, None, None), (0, None, None), (None, None, 1), (0, None, 1)):
            self.view = tl_core.operators.packets.aten.slice.Tensor(
                self.view,
                self._at,
                0 if start is None else start,
                _END if stop is None else stop,
                1 if step is None else step,
            )
        self._at += 1

    def _put(self, t: Any, dims: int) -> None:
        masks = sum(i.ndim - 1 for i in self.indices if i is not None and i.dtype in _MASKS)
        self.indices += [None] * (self._at - len(self.indices) - masks)
        self.indices.append(t)
        self._at += dims


def _dimensions(i: Any) -> int:
    """The dimensions of the tensor that an item speaks of."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    return i.ndim if isinstance(i, Tensor) and i.dtype in _MASKS else 1


def _number(p: Any) -> Any:
    if isinstance(p, SymInt):
        return p
    try:
        return operator.index(p)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(p).__name__})"
        ) from None


def _tensor_of(items: Any) -> Any:
    t = tl_core.tensor(items)
    return t.to(tl_core.int64) if t.numel() == 0 and t.is_floating_point() else t

"""What operators are in terms of others."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.ops

__all__: list[str] = []

aten = tl_core.ops.aten


def t(self: Any) -> Any:
    """A matrix transposed; of fewer dimensions the tensor itself."""
    return aten.permute.default(self, [1, 0]) if self.ndim == 2 else aten.alias.default(self)


def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    order = list(range(self.ndim))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute.default(self, order)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x·Wᵀ + b, over all leading dimensions."""
    turned = aten.permute.default(weight, [1, 0])
    flat = input
    if input.ndim != 2:
        rows: Any = 1
        for n in input.shape[:-1]:
            rows = rows * n
        flat = aten.view.default(
            aten.clone.default(input, memory_format=tl_core.contiguous_format), [rows, input.shape[-1]]
        )
    out = aten.mm.default(flat, turned) if bias is None else aten.addmm.default(bias, flat, turned)
    return out if input.ndim == 2 else aten.view.default(out, [*input.shape[:-1], weight.shape[0]])


def _convolution(count: int) -> Any:
    def convolution(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        def wide(n: Any) -> list[Any]:
            items = list(n) if isinstance(n, (list, tuple)) else [n]
            return items * count if len(items) == 1 else items

        zeros = [0] * count
        return aten.convolution.default(
            input, weight, bias, wide(stride), wide(padding), wide(dilation), False, zeros, groups
        )

    return convolution


conv1d, conv2d, conv3d = _convolution(1), _convolution(2), _convolution(3)


def dropout(input: Any, p: float, train: bool) -> Any:
    """The input itself where nothing is trained."""
    if not train or p == 0:
        return aten.clone.default(input)
    return aten.native_dropout.default(input, p, train)[0]


def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions made one."""
    if self.ndim == 0:
        return aten.view.default(self, [1])
    start, end = start_dim % self.ndim, end_dim % self.ndim
    if start == end:
        return aten.alias.default(self)
    total: Any = 1
    for n in self.shape[start : end + 1]:
        total = total * n
    return reshape(self, [*self.shape[:start], total, *self.shape[end + 1 :]])


def contiguous(self: Any, memory_format: Any = tl_core.contiguous_format) -> Any:
    """A contiguous copy."""
    return aten.clone.default(self, memory_format=memory_format)


def reshape(self: Any, shape: Any) -> Any:
    """Other sizes: a view where the layout allows it."""
    lane = self._lanes[0] if hasattr(self, "_lanes") else self
    if lane.is_contiguous():
        return aten.view.default(self, list(shape))
    return aten.view.default(aten.clone.default(self, memory_format=tl_core.contiguous_format), list(shape))


def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax along a dimension."""
    x = self if dtype is None else aten._to_copy.default(self, dtype=dtype)
    return aten._softmax.default(x, dim, False)


def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of softmax along a dimension."""
    x = self if dtype is None else aten._to_copy.default(self, dtype=dtype)
    return aten._log_softmax.default(x, dim, False)


def matmul(self: Any, other: Any) -> Any:
    """Products of matrices; those of other ranks stay as they are."""
    if self.ndim == 2 and other.ndim == 2:
        return aten.mm.default(self, other)
    if self.ndim == 3 and other.ndim == 3 and bool(self.shape[0] == other.shape[0]):
        return aten.bmm.default(self, other)
    return NotImplemented


def type_as(self: Any, other: Any) -> Any:
    """The dtype of another tensor."""
    return self if self.dtype == other.dtype else aten._to_copy.default(self, dtype=other.dtype)


def square(self: Any) -> Any:
    """The product with itself."""
    return aten.mul.Tensor(self, self)

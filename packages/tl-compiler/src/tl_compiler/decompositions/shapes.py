"""Views, copies, tensors put together, and tensors made anew."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes

aten = tl_core.operators.packets.aten


# ---- views
@decomposes("t.default")
def t(self: Any) -> Any:
    """A matrix transposed; of fewer dimensions the tensor itself."""
    return aten.permute.default(self, [1, 0]) if self.ndim == 2 else aten.alias.default(self)


@decomposes("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    order = list(range(self.ndim))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute.default(self, order)


@decomposes("squeeze.default")
def squeeze(self: Any) -> Any:
    """Without the dimensions of size 1."""
    return aten.squeeze.dims(self, [d for d, n in enumerate(self.shape) if bool(n == 1)])


@decomposes("detach.default", "lift_fresh.default")
def detach(self: Any) -> Any:
    """The tensor itself."""
    return aten.alias.default(self)


@decomposes("flatten.using_ints")
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


@decomposes("contiguous.default")
def contiguous(self: Any, memory_format: Any = tl_core.contiguous_format) -> Any:
    """A contiguous copy."""
    return aten.clone.default(self, memory_format=memory_format)


@decomposes("reshape.default")
def reshape(self: Any, shape: Any) -> Any:
    """Other sizes: a view where the layout allows it."""
    dense = self if self.is_contiguous() else contiguous(self)
    return aten.view.default(dense, list(shape))


@decomposes("split.Tensor", "unsafe_split.Tensor")
def split(self: Any, split_size: int, dim: int = 0) -> Any:
    """Pieces of one size, the last what is left."""
    n = self.shape[dim]
    if not isinstance(n, int) or not isinstance(split_size, int):
        return NotImplemented
    if split_size == 0:
        return [aten.alias.default(self)]
    count, rest = divmod(n, split_size)
    sizes = [split_size] * count + ([rest] if rest or not count else [])
    return list(aten.split_with_sizes.default(self, sizes, dim))


@decomposes("unsafe_split_with_sizes.default")
def unsafe_split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
    """Pieces of given sizes."""
    return list(aten.split_with_sizes.default(self, split_sizes, dim))


@decomposes("unbind.int")
def unbind(self: Any, dim: int = 0) -> Any:
    """The slices along a dimension."""
    n = self.shape[dim]
    return [aten.select.int(self, dim, i) for i in range(n)] if isinstance(n, int) else NotImplemented


# ---- put together
@decomposes("stack.default")
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new dimension."""
    at = dim % (tensors[0].ndim + 1)
    return aten.cat.default([aten.unsqueeze.default(x, at) for x in tensors], at)


@decomposes("select_backward.default")
def select_backward(grad: Any, input_sizes: Any, dim: int, index: int) -> Any:
    """The gradient at the index, 0 elsewhere."""
    return aten.select_scatter.default(new_zeros(grad, input_sizes), grad, dim, index)


@decomposes("slice_backward.default")
def slice_backward(grad: Any, input_sizes: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    """The gradient in the slice, 0 elsewhere."""
    return aten.slice_scatter.default(new_zeros(grad, input_sizes), grad, dim, start, end, step)


@decomposes("index_select_backward.default")
def index_select_backward(grad: Any, input_sizes: Any, dim: int, index: Any) -> Any:
    """The gradients added up at their indices."""
    at = [None] * (dim % max(len(input_sizes), 1))
    return aten.index_put.default(new_zeros(grad, input_sizes), [*at, index], grad, True)


# ---- made anew
@decomposes("zeros.default")
def zeros(size: Any, **options: Any) -> Any:
    """Zeros."""
    return aten.full.default(list(size), 0, **{"dtype": tl_core.get_default_dtype(), **options})


@decomposes("ones.default")
def ones(size: Any, **options: Any) -> Any:
    """Ones."""
    return aten.full.default(list(size), 1, **{"dtype": tl_core.get_default_dtype(), **options})


@decomposes("zeros_like.default")
def zeros_like(self: Any, **options: Any) -> Any:
    """Zeros in the shape of another."""
    return aten.full_like.default(self, 0, **options)


@decomposes("ones_like.default")
def ones_like(self: Any, **options: Any) -> Any:
    """Ones in the shape of another."""
    return aten.full_like.default(self, 1, **options)


@decomposes("new_full.default")
def new_full(self: Any, size: Any, fill_value: Any, **options: Any) -> Any:
    """A value in given sizes, of the type and device of another."""
    like = {"dtype": self.dtype, "device": self.device}
    return aten.full.default(list(size), fill_value, **{**like, **options})


@decomposes("new_zeros.default")
def new_zeros(self: Any, size: Any, **options: Any) -> Any:
    """Zeros likewise."""
    return new_full(self, size, 0, **options)


@decomposes("new_ones.default")
def new_ones(self: Any, size: Any, **options: Any) -> Any:
    """Ones likewise."""
    return new_full(self, size, 1, **options)


@decomposes("new_empty.default")
def new_empty(self: Any, size: Any, **options: Any) -> Any:
    """Memory likewise."""
    like = {"dtype": self.dtype, "device": self.device}
    return aten.empty.memory_format(list(size), **{**like, **options})


@decomposes("empty_like.default")
def empty_like(self: Any, **options: Any) -> Any:
    """Memory in the shape of another, in the order of its dimensions."""
    if options.pop("memory_format", None) is not None:
        return NotImplemented
    like = {"dtype": self.dtype, "device": self.device}
    return aten.empty_strided.default(list(self.shape), list(self.stride()), **{**like, **options})


@decomposes("arange.default")
def arange(end: Any, **options: Any) -> Any:
    """Numbers from 0."""
    return aten.arange.start_step(0, end, 1, **options)


@decomposes("arange.start")
def arange_start(start: Any, end: Any, **options: Any) -> Any:
    """Numbers from a start."""
    return aten.arange.start_step(start, end, 1, **options)


@decomposes("eye.default")
def eye(n: Any, **options: Any) -> Any:
    """Ones on the diagonal."""
    return eye_m(n, n, **options)


@decomposes("eye.m")
def eye_m(n: Any, m: Any, **options: Any) -> Any:
    """Ones on the diagonal of n rows and m columns."""
    device = options.get("device")
    row = aten.unsqueeze.default(aten.arange.start_step(0, n, 1, device=device), 1)
    dtype = options.get("dtype") or tl_core.get_default_dtype()
    return aten._to_copy.default(row == aten.arange.start_step(0, m, 1, device=device), dtype=dtype)


def _triangle(self: Any, diagonal: int, lower: bool) -> Any:
    row = aten.unsqueeze.default(aten.arange.start_step(0, self.shape[-2], 1, device=self.device), 1)
    apart = aten.arange.start_step(0, self.shape[-1], 1, device=self.device) - row
    inside = apart <= diagonal if lower else apart >= diagonal
    return aten.where.self(inside, self, aten.full.default([], 0, dtype=self.dtype, device=self.device))


@decomposes("tril.default")
def tril(self: Any, diagonal: int = 0) -> Any:
    """The lower triangle."""
    return _triangle(self, diagonal, True)


@decomposes("triu.default")
def triu(self: Any, diagonal: int = 0) -> Any:
    """The upper triangle."""
    return _triangle(self, diagonal, False)


@decomposes("rand_like.default")
def rand_like(self: Any, **options: Any) -> Any:
    """Uniform random numbers in the shape of another."""
    return _random_like(aten.rand.default, self, options)


@decomposes("randn_like.default")
def randn_like(self: Any, **options: Any) -> Any:
    """Normal random numbers in the shape of another."""
    return _random_like(aten.randn.default, self, options)


def _random_like(draw: Any, self: Any, options: dict[str, Any]) -> Any:
    options = {"dtype": self.dtype, "device": self.device, **options}
    options.pop("memory_format", None)
    return draw(list(self.shape), **options) if self.is_contiguous() else NotImplemented

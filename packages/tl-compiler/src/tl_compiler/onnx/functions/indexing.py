"""Shapes and indices."""

from __future__ import annotations

from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


@translates("aten::squeeze.dims")
def squeeze(op: Any, self: Any, dim: Any) -> Any:
    """A tensor without some dimensions of size 1."""
    rank = len(self.shape)
    axes = sorted({d % rank for d in dim if self.shape[d % rank] == 1}) if rank else []
    return op.Squeeze(self, axes) if axes else op.Identity(self)


def _parts(op: Any, self: Any, sizes: list[Any], dim: int) -> list[Any]:
    result = op.Split(self, sizes, axis=dim, _outputs=len(sizes))
    return [result] if len(sizes) == 1 else list(result)


@translates("aten::split.Tensor", "aten::split", "aten::unsafe_split.Tensor")
def split(op: Any, self: Any, split_size: Any, dim: int = 0) -> Any:
    """Parts of one size; the last one is smaller."""
    count = len(op.meta)
    sizes: list[Any] = [split_size] * (count - 1)
    total = self.shape[dim]
    if isinstance(total, int) and isinstance(split_size, int):
        return _parts(op, self, [*sizes, total - split_size * (count - 1)], dim)
    rest = op.Sub(op.size(self, dim), op.builder.vector([op.Mul(split_size, count - 1) if count > 1 else 0]))
    return _parts(op, self, [*sizes, rest], dim)


@translates("aten::split_with_sizes", "aten::split.sizes")
def split_with_sizes(op: Any, self: Any, split_sizes: Any, dim: int = 0) -> Any:
    """Parts of several sizes."""
    return _parts(op, self, list(split_sizes), dim)


@translates("aten::masked_select")
def masked_select(op: Any, self: Any, mask: Any) -> Any:
    """The elements at which a mask is True."""
    if self.shape != mask.shape:
        self, mask = op.Expand(self, op.Shape(mask)), op.Expand(mask, op.Shape(self))
    return op.Compress(op.Reshape(self, [-1]), op.Reshape(mask, [-1]), axis=0)


@translates("aten::diag_embed")
def diag_embed(op: Any, self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the elements on a diagonal."""
    rank, extra = len(self.shape) + 1, abs(offset)
    size = op.Add(op.size(self, -1), [extra]) if extra else op.size(self, -1)
    if extra:
        ends = [0] * (2 * len(self.shape))
        ends[-1] = extra
        self = op.Pad(self, ends)
    both = op.Concat(size, size, axis=0)
    mask = op.Cast(op.EyeLike(op.ConstantOfShape(both), dtype=7, k=offset), to=9)
    rows = op.Unsqueeze(self, [-1] if offset >= 0 else [-2])
    result = op.Where(mask, rows, op.CastLike(op.constant(0), self))
    order = [i for i in range(rank) if i not in (dim1 % rank, dim2 % rank)]
    positions = [*order, dim1 % rank, dim2 % rank]
    permutation = [positions.index(i) for i in range(rank)]
    return result if permutation == list(range(rank)) else op.Transpose(result, perm=permutation)


@translates("aten::index_fill.int_Scalar", "aten::index_fill.int_Tensor")
def index_fill(op: Any, self: Any, dim: int, index: Any, value: Any) -> Any:
    """A number instead of slices."""
    axis = dim % max(len(self.shape), 1)
    size = op.size(self, axis)
    positions = op.Range(op.constant(0), op.Squeeze(size, [0]), op.constant(1))
    hit = op.ReduceSum(
        op.Cast(op.Equal(op.Unsqueeze(positions, [-1]), op.Cast(index, to=7)), to=7), [-1], keepdims=0
    )
    shape = [-1 if i == axis else 1 for i in range(len(self.shape))]
    mask = op.Reshape(op.Greater(hit, 0), shape)
    return op.Where(mask, op.like(value, self), self)


@translates("aten::index_add", "aten::index_copy")
def index_add(op: Any, self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    """Slices plus the slices of another tensor, or replaced by them."""
    adds = "index_add" in str(op.node.target)
    axis, rank = dim % max(len(self.shape), 1), len(self.shape)
    if alpha != 1:
        source = op.Mul(source, op.like(alpha, source))
    order = [axis, *(i for i in range(rank) if i != axis)]
    back = [order.index(i) for i in range(rank)]
    moved = op.Transpose(self, perm=order) if axis else self
    slices = op.Transpose(source, perm=order) if axis else source
    result = op.ScatterND(moved, op.Unsqueeze(index, [-1]), slices, reduction="add" if adds else "none")
    return op.Transpose(result, perm=back) if axis else result


@translates("aten::take")
def take(op: Any, self: Any, index: Any) -> Any:
    """The elements of a flat tensor at indices."""
    return op.Gather(op.Reshape(self, [-1]), index, axis=0)


@translates("aten::trace")
def trace(op: Any, self: Any) -> Any:
    """The sum of the diagonal."""
    mask = op.CastLike(op.EyeLike(self, dtype=7), self)
    total = op.ReduceSum(op.Mul(self, mask), keepdims=0)
    return total if total.dtype == op.kind else op.Cast(total, to=int(op.kind))


@translates("aten::argwhere")
def argwhere(op: Any, self: Any) -> Any:
    """The indices of the elements that are not zero, a row for each."""
    return op.Transpose(op.NonZero(self), perm=[1, 0])


@translates("aten::scatter.reduce", "aten::scatter.value_reduce")
def scatter_reduce(
    op: Any, self: Any, dim: int, index: Any, src: Any = None, reduce: str = "add", value: Any = None
) -> Any:
    """A tensor to whose elements others are added, or by which they are multiplied."""
    source = src if value is None else value
    if not hasattr(source, "const_value"):
        source = op.Expand(op.like(source, self), op.Shape(index))
    reduction = "mul" if reduce == "multiply" else "add"
    return op.ScatterElements(self, index, source, axis=dim, reduction=reduction)


@translates("aten::randperm")
def randperm(op: Any, n: int, dtype: Any = None, **options: Any) -> Any:
    """The numbers below n in random order: the order of random numbers."""
    positions = op.TopK(op.RandomUniform(shape=[n], dtype=1), [n], axis=0, _outputs=2)[1]
    return positions if op.kind == 7 else op.Cast(positions, to=int(op.kind))

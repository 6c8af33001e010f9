"""Dimensions exchanged, taken out, put in, joined."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts import conversion
from tl_core.sparse_layouts.parts import (
    BLOCKED,
    COMPRESSED,
    batch_dims,
    coalesced,
    compressed,
    coo,
    indices_of,
    is_sparse,
    layout_name,
    with_values,
)
from tl_core.sparse_layouts.rule_table import rule

_TURNED = {
    _C.sparse_csr: _C.sparse_csc,
    _C.sparse_csc: _C.sparse_csr,
    _C.sparse_bsr: _C.sparse_bsc,
    _C.sparse_bsc: _C.sparse_bsr,
}


def wrapped(dim: int, n: int) -> int:
    """A dimension counted from the front; IndexError out of range."""
    most = max(n, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got {dim})"
        )
    return dim % most


def values_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """A COO tensor and its values: as it is, unless gradients need it in order."""
    x = coalesced(x) if x.requires_grad else x
    return x, (x.values() if x.is_coalesced() else x._values())


# ---- order --------------------------------------------------------------------------------------------------
@rule("transpose.int")
def transpose_elements(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose: of a COO tensor, the result has elements of its own, as in PyTorch

    Args:
        x: the sparse tensor.
        dim0: one dimension.
        dim1: the other.
    """
    is_moved = wrapped(dim0, x.dim()) != wrapped(dim1, x.dim())
    return transpose(x.clone() if is_moved and x.layout not in COMPRESSED else x, dim0, dim1)


@rule("transpose_")
def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose: of a compressed layout, the other dimension is compressed then

    Args:
        x: the sparse tensor.
        dim0: one dimension.
        dim1: the other.
    """
    a, b = sorted((wrapped(dim0, x.dim()), wrapped(dim1, x.dim())))
    if a == b:
        return x
    if x.layout in COMPRESSED:
        return _transposed_compressed(x, a, b)
    n = x.sparse_dim()
    size = list(x.shape)
    size[a], size[b] = size[b], size[a]
    if a < n <= b:
        raise RuntimeError(
            f"transpose: transposed dimensions must be both sparse or both dense. Got sparse_dim: {n}-d, dim0: {a}, "
            f"dim1: {b}"
        )
    x, values = values_of(x)
    if a >= n:
        return coo(x._indices(), values.transpose(a - n + 1, b - n + 1).contiguous(), size, x.is_coalesced())
    order = list(range(n))
    order[a], order[b] = b, a
    return coo(x._indices()[order], values, size, False)


def _transposed_compressed(x: Tensor, a: int, b: int) -> Tensor:
    n = batch_dims(x)
    size = list(x.shape)
    size[a], size[b] = size[b], size[a]
    offsets, plain = indices_of(x)
    values = x.values()
    if b < n:
        return compressed(
            offsets.transpose(a, b), plain.transpose(a, b), values.transpose(a, b), size, x.layout
        )
    if (a, b) == (n, n + 1):
        if x.layout in BLOCKED:
            values = values.transpose(n + 1, n + 2)
        return compressed(offsets, plain, values, size, _TURNED[x.layout])
    if a >= n + 2:
        shift = 1 if x.layout in BLOCKED else -1
        return compressed(offsets, plain, values.transpose(a + shift, b + shift), size, x.layout)
    raise RuntimeError(
        f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {a} and {b}"
    )


@rule("t")
def t(x: Tensor) -> Tensor:
    """t"""
    _check_t(x)
    return transpose_elements(x, 0, 1) if x.dim() == 2 else x


@rule("t_")
def t_(x: Tensor) -> Tensor:
    """t_"""
    _check_t(x)
    return transpose(x, 0, 1) if x.dim() == 2 else x


def _check_t(x: Tensor) -> None:
    if x.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.dim()}D")
    if x.layout is _C.sparse_coo and x.dim() == 2 and x.sparse_dim() != 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {x.sparse_dim()} sparse and "
            f"{x.dense_dim()} dense dimensions"
        )


@rule("permute")
def permute(x: Tensor, dims: Any) -> Tensor:
    """permute: sparse dimensions among themselves, dense ones among themselves"""
    if len(dims) != x.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {x.dim()} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrapped(d, x.dim()) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if order == sorted(order):
        return x
    if x.layout in COMPRESSED:
        if len(order) == 2:
            return transpose(x, 0, 1)
        raise RuntimeError(f"permute: expected the layout Sparse or two dimensions, got {layout_name(x)}")
    n = x.sparse_dim()
    if any((d < n) != (i < n) for i, d in enumerate(order)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed. Only "
            "transpositions within sparse and dense dimensions are supported."
        )
    x, values = values_of(x)
    values = values.permute(0, *(d - n + 1 for d in order[n:])) if n < len(order) else values
    size = [x.shape[d] for d in order]
    if order[:n] == sorted(order[:n]):
        return coo(x._indices(), values.contiguous(), size, x.is_coalesced())
    result = coo(x._indices()[order[:n]], values.contiguous(), size, False)
    if order[0] == 0 and x.is_coalesced():
        return result.coalesce()
    return result if result.requires_grad else result._coalesced_(False)


@rule("numpy_T", "adjoint")
def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose"""
    return _C.conj(transpose(x, -2, -1))


@rule("view", "reshape")
def view(x: Tensor, size: Any) -> Tensor:
    """view: in the shape that the tensor has"""
    if tuple(size) != tuple(x.shape):
        return NotImplemented
    if x.layout in COMPRESSED or x.requires_grad:
        return with_values(x, coalesced(x).values())
    return coo(x._indices(), x._values(), x.shape, x.is_coalesced())


# ---- one index of a dimension -------------------------------------------------------------------------------
@rule("select.int")
def select(x: Tensor, dim: int, index: int) -> Tensor:
    """select: dense where no sparse dimension is left

    Args:
        x: the sparse tensor.
        dim: the dimension.
        index: the index or indices.
    """
    dim = wrapped(dim, x.dim())
    if x.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    length = x.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}"
        )
    index %= length
    if x.layout in COMPRESSED:
        return _select_compressed(x, dim, index)
    n = x.sparse_dim()
    x, values = values_of(x)
    size = [*x.shape[:dim], *x.shape[dim + 1 :]]
    if dim >= n:
        return coo(x._indices(), values.select(dim - n + 1, index), size, x.is_coalesced())
    at = (x._indices()[dim] == index).nonzero().reshape(-1)
    values = values.index_select(0, at)
    if n == 1:
        return values.sum(0).to(x.dtype)
    rest = [d for d in range(n) if d != dim]
    return coo(x._indices()[rest].index_select(1, at), values, size, x.is_coalesced())


def _select_compressed(x: Tensor, dim: int, index: int) -> Tensor:
    n = batch_dims(x)
    size = [*x.shape[:dim], *x.shape[dim + 1 :]]
    offsets, plain = indices_of(x)
    if dim < n:
        parts = (offsets.select(dim, index), plain.select(dim, index), x.values().select(dim, index))
        return compressed(*parts, size, x.layout)
    if dim >= n + 2:
        shift = 1 if x.layout in BLOCKED else -1
        return compressed(offsets, plain, x.values().select(dim + shift, index), size, x.layout)
    if n:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors (dimension "
            f"{dim})"
        )
    return select(conversion.compressed_to_coo(x), dim, index)


@rule("index.Tensor")
def index(x: Tensor, indices: Any) -> Tensor:
    """Indexing by tensors: of one sparse dimension, as index_select does it"""
    present = [(d, i) for d, i in enumerate(indices) if i is not None]
    if len(present) == 1 and present[0][1].dim() == 1:
        dim, at = present[0]
        return index_select(x, dim, at.nonzero().reshape(-1) if at.dtype is _C.bool else at)
    return NotImplemented


@rule("index_select")
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """index_select

    Args:
        x: the sparse tensor.
        dim: the dimension.
        index: the index or indices.
    """
    if x.layout in COMPRESSED:
        return NotImplemented
    dim = wrapped(dim, x.dim())
    if x.dim() == 0:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    if index.dim() != 1 or index.dtype not in (_C.int64, _C.int32):
        raise IndexError(
            f"index_select() argument index must be 1-D long-tensor, got {index.dim()}-D {index.dtype}."
        )
    length, n = x.shape[dim], x.sparse_dim()
    index = index.to(_C.int64)
    if index.numel() and not (int(index.min()) >= -length and int(index.max()) < length):
        raise IndexError(
            f"index_select(): index contains an element out of range for tensor of size {list(x.shape)} at dimension "
            f"{dim}"
        )
    index = _C.where(index < 0, index + length, index)
    size = [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]]
    x, values = values_of(x)
    if dim >= n:
        return coo(x._indices(), values.index_select(dim - n + 1, index), size, x.is_coalesced())
    return _joined_at(x, values, dim, index, size)


def _joined_at(x: Tensor, values: Tensor, dim: int, index: Tensor, size: Any) -> Tensor:
    """Each element as often as its index of the sparse dimension is asked for: a join of two sorted lists."""
    order = _C.argsort(index, stable=True)
    ordered = index[order].contiguous()
    had = x._indices()[dim].contiguous()
    first, last = _C.searchsorted(ordered, had), _C.searchsorted(ordered, had, right=True)
    times = last - first
    element = _C.arange(had.shape[0]).repeat_interleave(times)
    begin = times.cumsum(0) - times
    nth = _C.arange(element.shape[0]) - begin[element]
    indices = x._indices().index_select(1, element)
    indices[dim] = order[first[element] + nth]
    result = coo(indices, values.index_select(0, element), size, False)
    return result.coalesce() if x.is_coalesced() else result


@rule("narrow")
def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """narrow: a copy

    Args:
        x: the sparse tensor.
        dim: the dimension.
        start: the first index.
        length: how many.
    """
    return narrow_copy(x, dim, start, length)


@rule("narrow_copy")
def narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """narrow_copy: of a sparse dimension the elements within, moved to the front

    Args:
        x: the sparse tensor.
        dim: the dimension.
        start: the first index.
        length: how many.
    """
    if not -x.dim() <= dim < x.dim():
        raise RuntimeError(
            f"Dimension out of range (expected to be in range of [{-x.dim()}, {x.dim() - 1}], but got {dim})"
        )
    dim %= x.dim()
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    size = x.shape[dim]
    start = start + size if start < 0 else start
    if not 0 <= start <= size - length:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size})."
            if start >= 0
            else f"start out of range (expected to be in range of [{-size}, {size}], but got {start - size})"
        )
    if x.layout in COMPRESSED:
        return NotImplemented
    n = x.sparse_dim()
    x, values = values_of(x)
    shape = [*x.shape[:dim], length, *x.shape[dim + 1 :]]
    if dim >= n:
        return coo(x._indices(), values.narrow(dim - n + 1, start, length), shape, x.is_coalesced())
    along = x._indices()[dim]
    inside = ((along >= start) & (along < start + length)).nonzero().reshape(-1)
    indices = x._indices().index_select(1, inside)
    indices[dim] -= start
    return coo(indices, values.index_select(0, inside), shape, x.is_coalesced())


# ---- dimensions of one --------------------------------------------------------------------------------------
@rule("unsqueeze", "unsqueeze_")
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """unsqueeze: a sparse dimension among the sparse ones"""
    if x.layout in COMPRESSED:
        return NotImplemented
    dim = wrapped(dim, x.dim() + 1)
    n = x.sparse_dim()
    x, values = values_of(x)
    size = [*x.shape[:dim], 1, *x.shape[dim:]]
    if dim > n:
        return coo(x._indices(), values.unsqueeze(dim - n + 1), size, x.is_coalesced())
    indices = x._indices()
    zeros = indices.new_zeros((1, indices.shape[1]))
    return coo(_C.cat([indices[:dim], zeros, indices[dim:]]), values, size, x.is_coalesced())


@rule("squeeze", "squeeze.dim", "squeeze.dims", "squeeze_", "squeeze_.dim", "squeeze_.dims")
def squeeze(x: Tensor, dims: Any = None) -> Tensor:
    """squeeze"""
    if x.layout in COMPRESSED:
        return NotImplemented
    candidates = range(x.dim()) if dims is None else [dims] if isinstance(dims, int) else dims
    removed = {d for d in (wrapped(d, x.dim()) for d in candidates) if x.dim() and x.shape[d] == 1}
    n = x.sparse_dim()
    x, values = values_of(x)
    dense = [d - n + 1 for d in sorted(removed) if d >= n]
    values = values.squeeze(dense) if dense else values
    rest = [d for d in range(n) if d not in removed]
    size = [s for d, s in enumerate(x.shape) if d not in removed]
    return coo(x._indices()[rest], values, size, x.is_coalesced())


@rule("expand", "broadcast_to")
def expand(x: Tensor, size: Any, implicit: bool = False) -> Tensor:
    """expand: a copy whose sparse dimensions of one are repeated

    Args:
        x: the sparse tensor.
        size: the sizes.
        implicit: whether broadcasting asks for it.
    """
    n = x.dim()
    extra = len(size) - n
    if extra < 0:
        raise RuntimeError(f"expand: the tensor has {n} dimensions, the size {list(size)} fewer")
    shape = [x.shape[i - extra] if s == -1 and i >= extra else s for i, s in enumerate(size)]
    return sparse_broadcast_to(x, shape)


def sparse_broadcast_to(x: Tensor, size: Any) -> Tensor:
    """A COO tensor expanded to a larger shape, as the elements that it stores."""
    size = tuple(int(s) for s in size)
    extra = len(size) - x.dim()
    old = (1,) * extra + tuple(x.shape)
    if extra < 0 or any(o not in (1, s) for o, s in zip(old, size, strict=True)):
        raise RuntimeError(
            f"the size of the sparse tensor {list(x.shape)} does not broadcast to {list(size)}"
        )
    if x.layout in COMPRESSED:
        return conversion.to_sparse(x.to_dense().expand(size), layout=x.layout)
    x, values = values_of(x)
    n = x.sparse_dim()
    count, m = values.shape[0], n + extra
    values = values.expand(count, *size[m:])
    indices = _C.cat([x._indices().new_zeros((extra, count)), x._indices()])
    repeated = [d for d in range(m) if old[d] == 1 and size[d] != 1]
    if not repeated:
        return coo(indices, values.contiguous(), size, x.is_coalesced())
    copies = 1
    for d in repeated:
        copies *= size[d]
    indices = indices.repeat_interleave(copies, 1)
    number = _C.arange(copies).repeat(count)
    for d in reversed(repeated):
        indices[d] = number % max(size[d], 1)
        number = number // max(size[d], 1)
    values = values.repeat_interleave(copies, 0)
    result = coo(indices, values.contiguous(), size, False)
    return result.coalesce() if x.is_coalesced() else result


# ---- joined -------------------------------------------------------------------------------------------------
@rule("cat")
def cat(tensors: Any, dim: int) -> Tensor:
    """cat of COO tensors"""
    for i, x in enumerate(tensors):
        if not is_sparse(x):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
                if i
                else "Concatenating sparse tensors, but a dense tensor was found at position 0."
            )
    if any(x.layout in COMPRESSED for x in tensors):
        return NotImplemented
    first = tensors[0]
    dim, n = wrapped(dim, first.dim()), first.sparse_dim()
    for i, x in enumerate(tensors):
        if (x.sparse_dim(), x.dense_dim()) != (n, first.dense_dim()):
            raise RuntimeError(
                "All tensors must have the same number of sparse and dense dimensions: "
                f"{n}, {first.dense_dim()}, but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        if any(d != dim and a != b for d, (a, b) in enumerate(zip(x.shape, first.shape, strict=True))):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(x.shape)} at position {i}"
            )
    size = list(first.shape)
    size[dim] = sum(x.shape[dim] for x in tensors)
    pairs = [values_of(x) for x in tensors]
    return _joined_sparse(pairs, dim, size) if dim < n else _joined_dense(pairs, dim - n + 1, size)


def _joined_sparse(pairs: Any, dim: int, size: Any) -> Tensor:
    indices, start = [], 0
    for x, _ in pairs:
        moved = x._indices().clone()
        moved[dim] += start
        indices.append(moved)
        start += x.shape[dim]
    in_order = dim == 0 and all(x.is_coalesced() for x, _ in pairs)
    return coo(_C.cat(indices, 1), _C.cat([v for _, v in pairs]), size, in_order)


def _joined_dense(pairs: Any, dim: int, size: Any) -> Tensor:
    values, start, total = [], 0, size[dim - 1 + pairs[0][0].sparse_dim()]
    for _, v in pairs:
        before, after = list(v.shape), list(v.shape)
        before[dim], after[dim] = start, total - start - v.shape[dim]
        values.append(_C.cat([v.new_zeros(before), v, v.new_zeros(after)], dim))
        start += v.shape[dim]
    return coo(_C.cat([x._indices() for x, _ in pairs], 1), _C.cat(values), size, False)


@rule("stack")
def stack(tensors: Any, dim: int) -> Tensor:
    """stack"""
    dim = wrapped(dim, tensors[0].dim() + 1)
    return cat([_C.unsqueeze(x, dim) for x in tensors], dim)


@rule("to_dense")
def to_dense(x: Tensor, *rest: Any) -> Tensor:
    """to_dense"""
    return x.to_dense()


_sparse_broadcast_to = sparse_broadcast_to  # the reference's name

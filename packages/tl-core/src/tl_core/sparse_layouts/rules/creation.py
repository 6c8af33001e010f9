"""Tensors shaped as a sparse one, and sizes changed in place."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts import conversion
from tl_core.sparse_layouts.parts import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    NAMES,
    batch_dims,
    blocksize_of,
    compressed,
    coo,
    indices_of,
    is_sparse,
    layout_name,
    with_values,
)
from tl_core.sparse_layouts.rule_table import rule


def empty_of(
    size: Any, dtype: Any, layout: Any, device: Any, blocksize: Any = None, dense: int = 0
) -> Tensor:
    """A tensor that stores nothing.

    Args:
        size: the sizes.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        blocksize: the sizes of a block, for blocked layouts.
        dense: how many dimensions are dense.
    """
    size = tuple(size)
    if min(size, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    options = {"device": device, "dtype": dtype}
    if layout is _C.sparse_coo:
        n = len(size) - dense
        return coo(
            _C.empty(n, 0, dtype=_C.int64, device=device), _C.empty(0, *size[n:], **options), size, True
        )
    if layout not in COMPRESSED:
        raise NotImplementedError(f"torch.empty: the layout {layout} isn't made by this operator")
    n = len(size) - dense - 2
    if n < 0:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    if layout in BLOCKED and blocksize is None:
        raise RuntimeError(
            f"torch.empty: a tensor of the layout {layout} needs a blocksize, which empty() does not take"
        )
    r, c = blocksize or (1, 1)
    lines = size[n] // r if layout in BY_ROWS else size[n + 1] // c
    offsets = _C.zeros((*size[:n], lines + 1), dtype=_C.int64, device=device)
    plain = _C.empty((*size[:n], 0), dtype=_C.int64, device=device)
    block = (r, c) if layout in BLOCKED else ()
    return compressed(
        offsets, plain, _C.empty((*size[:n], 0, *block, *size[n + 2 :]), **options), size, layout
    )


def compressed_of_dims(
    nnz: int,
    dense_dim: int,
    size: tuple[int, ...],
    blocksize: tuple[int, ...],
    index_dtype: Any,
    *,
    layout: Any,
    dtype: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    """A compressed tensor of zeros that are stored, line after line.

    Args:
        nnz: how many elements, or blocks, each matrix stores.
        dense_dim: how many dimensions are dense.
        size: the sizes.
        blocksize: the sizes of a block, for blocked layouts; else nothing.
        index_dtype: the type of the indices, int32 or int64.
        layout: a compressed layout.
        dtype: the type of the elements; None is the default type.
        device: the device; None is the default device.
        pin_memory: accepted for False.
    """
    name = "sparse_compressed_tensor_with_dims"
    if layout not in COMPRESSED:
        raise RuntimeError(f"{name}: expected a sparse compressed layout, got {layout}")
    if bool(blocksize) != (layout in BLOCKED) or len(blocksize) not in (0, 2):
        raise RuntimeError(
            f"{name}: blocksize must be two sizes for block layouts and empty for others, got {list(blocksize)} for "
            f"{NAMES[layout]}"
        )
    batch = len(size) - dense_dim - 2
    if batch < 0:
        raise RuntimeError(
            f"{name}: expected two sparse dimensions before {dense_dim} dense ones, got {list(size)}"
        )
    r, c = blocksize or (1, 1)
    lines, length = size[batch] // r, size[batch + 1] // c
    if layout not in BY_ROWS:
        lines, length = length, lines
    if not 0 <= nnz <= lines * length:
        raise RuntimeError(f"{name}: expected nnz in [0, {lines * length}], got {nnz}")
    indices = {"dtype": index_dtype, "device": device}
    offsets = (_C.arange(lines + 1, **indices) * length).clamp(max=nnz)
    plain = _C.arange(nnz, **indices) % max(length, 1)
    values = _C.zeros((*size[:batch], nnz, *blocksize, *size[batch + 2 :]), dtype=dtype, device=device)
    offsets, plain = (i.expand(*size[:batch], *i.shape).contiguous() for i in (offsets, plain))
    return compressed(offsets, plain, values, size, layout)


def _like(x: Tensor, dtype: Any, layout: Any, device: Any) -> Tensor:
    layout = layout or x.layout
    dtype, device = dtype or x.dtype, device or x.device
    if layout is _C.strided:
        return _C.zeros(x.shape, dtype=dtype, device=device)
    blocksize = blocksize_of(x) if x.layout in BLOCKED else None
    if layout in BLOCKED and blocksize is None:
        raise RuntimeError(f"cannot make a tensor of the layout {layout} like one without blocks")
    dense = x.dense_dim() if is_sparse(x) else 0
    return empty_of(x.shape, dtype, layout, device, blocksize, dense)


@rule("empty.memory_format", "zeros")
def empty(size: Any, dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """empty(layout=), zeros(layout=): nothing is stored

    Args:
        size: the sizes.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        rest: further arguments of the operator.
    """
    return empty_of(size, dtype or _C.get_default_dtype(), layout or _C.sparse_coo, device)


@rule("zeros_like")
def zeros_like(
    x: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Tensor:
    """zeros_like: nothing is stored

    Args:
        x: the sparse tensor.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        pin_memory: accepted for False.
        memory_format: accepted for None.
    """
    return _like(x, dtype, layout, device)


@rule("empty_like")
def empty_like(
    x: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Tensor:
    """empty_like: of a compressed layout, the same coordinates

    Args:
        x: the sparse tensor.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        pin_memory: accepted for False.
        memory_format: accepted for None.
    """
    if x.layout not in COMPRESSED:
        return _like(x, dtype, layout, device)
    if (layout or x.layout) is not x.layout:
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {layout_name(x)} but you requested "
            f"{NAMES[layout]})"
        )
    offsets, plain = (i.to(device=device or x.device, copy=True) for i in indices_of(x))
    values = _C.empty_like(x._values(), dtype=dtype, device=device or x.device)
    return compressed(offsets, plain, values, x.shape, x.layout)


@rule("ones_like")
def ones_like(x: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """ones_like: ones at the coordinates that are stored; dense where it is asked for

    Args:
        x: the sparse tensor.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        pin_memory: accepted for False.
        memory_format: accepted for None.
    """
    if layout is _C.strided:
        return _C.ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)
    return with_values(x, _C.ones_like(x._values(), dtype=dtype, device=device))


@rule("full_like")
def full_like(
    x: Tensor, value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Tensor:
    """full_like: only a dense result holds one number everywhere

    Args:
        x: the sparse tensor.
        value: the value.
        dtype: the type of the result; None keeps it.
        layout: the layout of the result; None keeps it.
        device: the device; None keeps it.
        pin_memory: accepted for False.
        memory_format: accepted for None.
    """
    if layout is not _C.strided:
        raise RuntimeError(
            "full_like: a sparse tensor cannot hold one number everywhere; pass layout=torch.strided"
        )
    return _C.full(x.shape, value, dtype=dtype or x.dtype, device=device or x.device)


def _random_like(name: str) -> Any:
    function = getattr(_C, name)

    def make(x: Tensor, dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
        if (layout or x.layout) is _C.strided:
            return getattr(_C, name.removesuffix("_like"))(x.shape, dtype=dtype or x.dtype)
        return with_values(x, function(x._values(), dtype=dtype))

    return make


for _name in ("rand_like", "randn_like"):
    rule(_name)(_random_like(_name))


def _new(name: str) -> Any:
    def make(x: Tensor, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
        layout, dtype, device = layout or x.layout, dtype or x.dtype, device or x.device
        if layout is _C.strided:
            return getattr(_C, name)(tuple(size), dtype=dtype, device=device)
        return empty_of(size, dtype, layout, device)

    return make


rule("new_empty")(_new("empty"))
rule("new_zeros")(_new("zeros"))


@rule("zero_")
def zero_(x: Tensor) -> Tensor:
    """zero_: nothing is stored any more"""
    return _like(x, None, None, None)


def _first_difference(a: Any, b: Any) -> int:
    """The first dimension in which two shapes differ."""
    return next((d for d, (m, n) in enumerate(zip(a, b, strict=False)) if m != n), min(len(a), len(b)))


@rule("copy_")
def copy_(x: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
    """copy_: what the source stores, of its own layout and shape

    Args:
        x: the sparse tensor.
        source: the tensor that is copied.
        non_blocking: without effect on a CPU.
    """
    if x.layout is _C.sparse_coo or source.layout is _C.sparse_coo:
        raise RuntimeError(
            f"copy_: a sparse tensor takes one of its own layout and shape, {layout_name(x)} of {list(x.shape)}, got "
            f"{layout_name(source)} of {list(source.shape)}"
        )
    if x._nnz() != source._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported. "
            f"self has {x._nnz()} and src has {source._nnz()}"
        )
    if x.shape != source.shape:
        along = _first_difference(x.shape, source.shape)
        raise RuntimeError(
            f"torch.copy_: expected shapes of self and src to match along dimension {along} for {layout_name(x)} "
            f"layout, got {list(x.shape)} and {list(source.shape)}"
        )
    if x.layout in BLOCKED and blocksize_of(x) != blocksize_of(source):
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. self and "
            f"src block sizes are {blocksize_of(x)} and {blocksize_of(source)}, respectively"
        )
    return source.to(x.dtype, copy=True)


# ---- sizes --------------------------------------------------------------------------------------------------
def resize(x: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """A COO tensor of another size with the elements that are stored.

    Args:
        x: the sparse tensor.
        size: the sizes.
        sparse_dim: how many dimensions are sparse.
        dense_dim: how many are dense.
    """
    size = tuple(size)
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )
    if x._nnz() == 0:
        return empty_of(size, x.dtype, _C.sparse_coo, x.device, None, dense_dim)
    advice = (
        " on a non-empty sparse tensor is not supported. If you need an empty sparse tensor of this size, call "
        "`x = torch.sparse_coo_tensor(size)`."
    )
    if sparse_dim != x.sparse_dim():
        raise RuntimeError(
            f"changing the number of sparse dimensions (from {x.sparse_dim()} to {sparse_dim}){advice}"
        )
    if dense_dim != x.dense_dim():
        raise RuntimeError(
            f"changing the number of dense dimensions (from {x.dense_dim()} to {dense_dim}){advice}"
        )
    for what, old, new in (
        ("sparse", x.shape[:sparse_dim], size[:sparse_dim]),
        ("dense", x.shape[sparse_dim:], size[sparse_dim:]),
    ):
        if any(n < o for n, o in zip(new, old, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {what} dimensions (from {list(old)} to {list(new)}){advice}"
            )
    values = x._values()
    if tuple(values.shape[1:]) != size[sparse_dim:]:
        # As resize_ of a dense tensor: the elements keep their order in memory, not their indices.
        wider = values.new_zeros((values.shape[0], *size[sparse_dim:]))
        wider.view(-1)[: values.numel()] = values.reshape(-1)
        values = wider
    return coo(x._indices(), values, size, x.is_coalesced())


@rule("resize_")
def resize_(x: Tensor, size: Any, memory_format: Any = None) -> Tensor:
    """resize_ of the compressed layouts: elements of rows that are left out go, those of new rows are none

    Args:
        x: the sparse tensor.
        size: the sizes.
        memory_format: accepted for None.
    """
    size, batch = tuple(size), batch_dims(x)
    name = "torch.resize_"
    if x.layout not in COMPRESSED:
        raise NotImplementedError(
            f"{name}: a tensor of the layout {layout_name(x)} is resized by sparse_resize_()"
        )
    if len(size) < 2:
        raise RuntimeError(
            f"{name}: Only batched sparse CSR matrices are supported, but got size {list(size)}"
        )
    lines = batch + (0 if x.layout in BY_ROWS else 1)  # the dimension whose slices lie one after another
    fixed = [d for d in range(x.dim()) if d not in (batch, batch + 1)]
    if len(size) != x.dim() or any(size[d] != x.shape[d] for d in fixed):
        raise RuntimeError(
            f"{name}: a sparse compressed tensor keeps its batch and dense dimensions, got {list(size)} for "
            f"{list(x.shape)}"
        )
    across = 2 * batch + 1 - lines
    if size[across] < x.shape[across]:
        raise RuntimeError(
            f"{name}: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number "
            f"of columns is {x.shape[across]} while the requested new number of columns is {size[across]}."
        )
    return _of_lines(x, size, lines)


def _of_lines(x: Tensor, size: tuple[int, ...], dim: int) -> Tensor:
    """A compressed tensor of fewer or more rows, or columns."""
    offsets, plain = indices_of(x)
    block = (
        dict(zip((batch_dims(x), batch_dims(x) + 1), blocksize_of(x), strict=True))
        if x.layout in BLOCKED
        else {}
    )
    for d, n in block.items():
        if size[d] % n:
            raise RuntimeError(f"torch.resize_: expected a size that blocks of {n} divide, got {size[d]}")
    count = size[dim] // block.get(dim, 1)
    more = count + 1 - offsets.shape[-1]
    if more > 0:
        offsets = _C.cat([offsets, offsets[..., -1:].expand(*offsets.shape[:-1], more)], -1)
    offsets = offsets[..., : count + 1].contiguous()
    stored = set(offsets[..., -1].reshape(-1).tolist())
    if len(stored) > 1:
        raise RuntimeError(
            "torch.resize_: the matrices of a batch store equally many elements, but the rows that stay have "
            f"{sorted(stored)}"
        )
    n = stored.pop() if stored else 0
    batch = batch_dims(x)
    values = x._values().narrow(batch, 0, n).clone()
    return compressed(offsets, plain[..., :n].contiguous(), values, size, x.layout)


@rule("sparse_resize_")
def sparse_resize_(x: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """sparse_resize_

    Args:
        x: the sparse tensor.
        size: the sizes.
        sparse_dim: how many dimensions are sparse.
        dense_dim: how many are dense.
    """
    if x.layout is not _C.sparse_coo:
        raise RuntimeError("sparse_resize_: expected a tensor of the layout torch.sparse_coo")
    return resize(x, size, sparse_dim, dense_dim)


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(x: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """sparse_resize_and_clear_

    Args:
        x: the sparse tensor.
        size: the sizes.
        sparse_dim: how many dimensions are sparse.
        dense_dim: how many are dense.
    """
    if x.layout is not _C.sparse_coo:
        raise RuntimeError("sparse_resize_and_clear_: expected a tensor of the layout torch.sparse_coo")
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )
    return empty_of(size, x.dtype, _C.sparse_coo, x.device, None, dense_dim)


@rule("resize_as_", "resize_as_sparse_")
def resize_as_(x: Tensor, other: Tensor, *rest: Any) -> Tensor:
    """resize_as_

    Args:
        x: the sparse tensor.
        other: the other operand.
        rest: further arguments of the operator.
    """
    if x.layout is not other.layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got self "
            f"({layout_name(x)}) and src ({layout_name(other)})"
        )
    if x.layout is _C.sparse_coo:
        return resize(x, other.shape, other.sparse_dim(), other.dense_dim())
    if x.shape == other.shape and blocksize_of(x) == blocksize_of(other):
        return x
    # As PyTorch does it: with as many elements as the other stores, at its coordinates.
    offsets, plain = (i.to(indices_of(x)[0].dtype, copy=True) for i in indices_of(other))
    return compressed(offsets, plain, _C.zeros_like(other._values(), dtype=x.dtype), other.shape, x.layout)


# ---- gradients and masks ------------------------------------------------------------------------------------
@rule("_to_dense")
def to_dense(x: Tensor, masked_grad: bool) -> Tensor:
    """_to_dense of the compressed layouts"""
    return conversion.compressed_to_dense(x)


@rule("_values_at")
def values_at(x: Tensor, mask: Tensor) -> Tensor:
    """_values_at: dense at a compressed mask, or sparse at a sparse one"""
    return conversion.sparse_at(x, mask) if is_sparse(x) else conversion.dense_at(x, mask)


@rule("_sparse_like")
def sparse_like(x: Tensor, mask: Tensor, masked: bool) -> Tensor:
    """_sparse_like

    Args:
        x: the sparse tensor.
        mask: the sparse tensor whose indices are taken.
        masked: whether elements outside of the mask get no gradient.
    """
    if masked:
        mask = mask if mask.layout is not _C.sparse_coo or mask.is_coalesced() else mask.coalesce()
        return with_values(mask, _C._values_at(x, mask))
    if x.layout is mask.layout or batch_dims(mask):  # matrices of a batch would have to store equally many
        return x
    if is_sparse(x):
        x = x.to_dense()
    if mask.layout is _C.sparse_coo:
        return conversion.to_sparse(x, max(mask.sparse_dim(), 0) if mask.dim() else None)
    blocksize = blocksize_of(mask) if mask.layout in BLOCKED else None
    return conversion.to_sparse(x, layout=mask.layout, blocksize=blocksize, dense_dim=mask.dense_dim())


@rule("sparse_mask")
def sparse_mask(x: Tensor, mask: Tensor) -> Tensor:
    """sparse_mask"""
    return with_values(mask, _C._values_at(x, mask))

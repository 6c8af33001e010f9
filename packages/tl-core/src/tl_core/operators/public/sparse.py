"""Sparse tensors: constructors from parts, and products by rows."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.operators.packets import aten

from .formula import Recording, formula, named


def _indices_of(r: Recording, t: Any) -> list[Any]:
    """The compressed and the plain indices of a tensor of a compressed layout."""
    by_rows = t.layout in (tl_core.sparse_csr, tl_core.sparse_bsr)
    names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
    return [r(named(name), t) for name in names]


def _values_of(r: Recording, t: Any) -> Any:
    return r(named("_values" if t.layout is tl_core.sparse_coo else "values"), t)


@formula("_sparse_coo_tensor")
def _coo(r: Recording, indices: Any, values: Any, size: Any, is_coalesced: bool = False) -> Any:
    op = named("_sparse_coo_tensor_with_dims_and_tensors")
    options = {"dtype": values.dtype, "layout": tl_core.sparse_coo, "device": values.device}
    dims = indices.shape[0], values.ndim - 1
    return r(op, *dims, list(size), indices, values, **options, is_coalesced=is_coalesced)


@formula("_sparse_compressed_tensor")
def _compressed_tensor(r: Recording, offsets: Any, plain: Any, values: Any, size: Any, layout: Any) -> Any:
    op = named("_sparse_compressed_tensor_unsafe")
    options = {"dtype": values.dtype, "layout": layout, "device": values.device}
    return r(op, offsets, plain, values, list(size), **options)


@formula("_with_values")
def _with_values(r: Recording, like: Any, values: Any) -> Any:
    if like.layout is tl_core.sparse_coo:
        return _coo(r, r(named("_indices"), like), values, like.shape, like.is_coalesced())
    return _compressed_tensor(r, *_indices_of(r, like), values, like.shape, like.layout)


@formula("_values_at")
def _values_at(r: Recording, t: Any, mask: Any) -> Any:
    if mask.layout is not tl_core.sparse_coo:
        return _values_of(r, r(aten.sparse_mask.default, t, mask))
    if t.layout is not tl_core.strided:
        if not mask.is_coalesced():
            return NotImplemented
        return _values_of(r, r(aten.sparse_mask.default, t, mask))
    indices = r(named("_indices"), mask)
    rows = [r(aten.select.int, indices, 0, i) for i in range(indices.shape[0])]
    return r(aten.index.Tensor, t, rows)


@formula("_sparse_like")
def _sparse_like(r: Recording, t: Any, mask: Any, masked: bool = True) -> Any:
    if masked:
        return _with_values(r, mask, _values_at(r, t, mask))
    if mask.layout is tl_core.sparse_coo:
        return r(named("_to_sparse").overloadpacket.sparse_dim, t, mask.sparse_dim())
    blocks = None
    if mask.layout in (tl_core.sparse_bsr, tl_core.sparse_bsc):
        batch = mask.ndim - 2 - mask.dense_dim()
        blocks = list(mask.values().shape[batch + 1 : batch + 3])
    return r(named("_to_sparse"), t, layout=mask.layout, blocksize=blocks, dense_dim=mask.dense_dim() or None)


@formula("_all_elements")
def _all_elements(r: Recording, t: Any) -> Any:
    return r(named("_to_dense"), t)


@formula("_csr_mm")
def _csr_mm(r: Recording, offsets: Any, plain: Any, values: Any, mat: Any) -> Any:
    rows = offsets.shape[0] - 1
    sparse = _compressed_tensor(r, offsets, plain, values, [rows, mat.shape[0]], tl_core.sparse_csr)
    return r.whole(aten.mm.default, sparse, mat)


@formula("_csr_mm_transposed")
def _csr_mm_transposed(r: Recording, offsets: Any, plain: Any, values: Any, mat: Any, columns: int) -> Any:
    """By columns, the compressed rows are the transpose."""
    sparse = _compressed_tensor(r, offsets, plain, values, [columns, mat.shape[0]], tl_core.sparse_csc)
    return r.whole(aten.mm.default, sparse, mat)


@formula("_csr_sampled_mm")
def _csr_sampled_mm(r: Recording, offsets: Any, plain: Any, first: Any, second: Any) -> Any:
    size = [first.shape[0], second.shape[1]]
    zeros = r(aten.new_zeros.default, first, [plain.shape[0]])
    pattern = _compressed_tensor(r, offsets, plain, zeros, size, tl_core.sparse_csr)
    return _values_of(r, r(named("sparse_sampled_addmm"), pattern, first, second))

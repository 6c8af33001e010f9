"""Private functions of `torch.masked`: the selection of elements of any layout, dimensions, neutral values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.masked.operations import _dims, neutral

_WITHOUT_IDENTITY = ("mean", "var", "std")


def _canonical_dim(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Dimensions in order, each at least 0; None and () are all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(_dims(dim, max(ndim, 1))))


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The value that changes no result of a reduction, as a tensor; None if it depends on the elements.

    Raises:
        NotImplementedError: there is no such reduction, or none of the dtype.
    """
    name = op_name.rsplit(".", 1)[-1]
    if name in _WITHOUT_IDENTITY:
        return None
    if input.is_complex() and name in ("amax", "amin", "argmax", "argmin", "logaddexp"):
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    if name == "median" and not input.is_floating_point():
        return tl_core.tensor(float("nan"), device=input.device)
    if name == "logsumexp" and input.is_complex():
        value = float("-inf")
    elif name == "norm" and args[:1] == (float("-inf"),):
        value = float("inf")
    else:
        value = neutral(name, input.dtype)
    return tl_core.tensor(value, dtype=input.dtype, device=input.device)


def _flat(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """The positions of the columns of indices in a contiguous tensor."""
    result = indices.new_zeros(indices.shape[1])
    for row, size in zip(indices, sizes, strict=True):
        result = result * size + row
    return result


def _where_coo(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    if mask.shape != input.shape or mask.dense_dim() != input.dense_dim():
        raise AssertionError(
            f"_where(): mask must have the sizes and the dense dimensions of input, {list(input.shape)} and "
            f"{input.dense_dim()}, got {list(mask.shape)} and {mask.dense_dim()}"
        )
    input, mask = input.coalesce(), mask.coalesce()
    is_selected = mask.values().reshape(mask.values().shape[0], -1).any(1)
    indices, mask_values = mask.indices()[:, is_selected], mask.values()[is_selected]
    columns = _flat(indices, input.shape[: input.sparse_dim()])
    stored = _flat(input.indices(), input.shape[: input.sparse_dim()])
    values = input.values()
    if len(stored):
        slot = tl_core.searchsorted(stored, columns).clamp(max=len(stored) - 1)
        is_stored = (stored[slot] == columns).reshape(-1, *[1] * input.dense_dim())
        values = tl_core.where(is_stored, values[slot], values.new_zeros(()))
    else:
        values = values.new_zeros((len(columns), *values.shape[1:]))
    if input.dense_dim():
        values = tl_core.where(mask_values, values, fill_value)
    return tl_core.sparse_coo_tensor(indices, values, input.shape, is_coalesced=True)


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """`where` for tensors of one layout: strided, COO or CSR.

    A sparse result stores the elements that the mask selects, zeros among them. Its other elements stand for
    `fill_value`.

    Raises:
        ValueError: the layout is another one.
        AssertionError: the layouts, the sizes or the dense dimensions of a sparse mask and input differ.
    """
    if mask.layout is tl_core.strided:
        return tl_core.where(mask, input, fill_value)
    if mask.layout not in (tl_core.sparse_coo, tl_core.sparse_csr):
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    if input.layout is not mask.layout:
        raise AssertionError(
            f"_where(): mask must have the layout {input.layout} of input, got {mask.layout}"
        )
    if mask.layout is tl_core.sparse_coo:
        return _where_coo(mask, input, fill_value)
    return _where_coo(mask.to_sparse(), input.to_sparse(), fill_value).to_sparse_csr()

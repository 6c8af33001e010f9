"""`gradcheck` of functions that take and return sparse tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts.construction import sparse_compressed_tensor, sparse_coo_tensor
from tl_core.sparse_layouts.parts import BLOCKED, COMPRESSED, batch_dims, blocksize_of, indices_of, is_sparse

__all__ = ["as_sparse_gradcheck"]


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A `gradcheck` for functions with sparse inputs or results.

    The checked function gets the values of sparse inputs as dense tensors and puts the sparse ones together itself;
    sparse results are made dense. With `masked=False`, what is not stored counts as zeros that can change: inputs
    then store all elements.

    Args:
        gradcheck: the function that checks, such as `tl.autograd.gradcheck`.

    Returns:
        A function with the same arguments.

    Example:
        >>> import tl_core as tl
        >>> check = tl.sparse.as_sparse_gradcheck(lambda f, x, masked=False: [part.layout for part in x])
        >>> x = tl.ones(2, dtype=tl.float64).to_sparse().requires_grad_()
        >>> check(lambda x: x, (x,), masked=True)
        [torch.strided]
    """

    @functools.wraps(gradcheck)
    def check(func: Any, inputs: Any, **kwargs: Any) -> Any:
        masked = kwargs.get("masked", False)
        inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        flat, rebuilders = [], []
        for x in inputs:
            parts, rebuild = _taken_apart(x, masked)
            flat += parts
            rebuilders.append((len(parts), rebuild))

        def on_parts(*args: Any) -> Any:
            leaves, tensors = list(args), []
            for count, rebuild in rebuilders:
                tensors.append(rebuild(leaves[:count]))
                leaves = leaves[count:]
            output = func(*tensors)
            if isinstance(output, (list, tuple)):
                return type(output)(_dense(m, masked) for m in output)
            return _dense(output, masked)

        return gradcheck(on_parts, tuple(flat), **kwargs)

    return check


def _dense(x: Any, masked: bool) -> Any:
    return x.to_dense(masked_grad=masked) if is_sparse(x) and x.requires_grad else x


def _taken_apart(x: Any, masked: bool) -> tuple[list[Any], Any]:
    if not (is_sparse(x) and x.requires_grad):
        return [x], lambda parts: parts[0]
    layout, size = x.layout, x.shape
    x = x.detach()
    x = x if masked else _store_all(x)
    if layout is _C.sparse_coo:
        x = x if x.is_coalesced() or not masked else x.coalesce()
        indices, coalesced = x._indices(), x.is_coalesced()
        values = x._values().clone().requires_grad_(True)
        return [values], lambda parts: sparse_coo_tensor(indices, parts[0], size, is_coalesced=coalesced)
    offsets, plain = indices_of(x)
    values = x._values().clone().requires_grad_(True)
    return [values], lambda parts: sparse_compressed_tensor(offsets, plain, parts[0], size, layout=layout)


def _store_all(x: Tensor) -> Tensor:
    """The same tensor with every element stored."""
    ones = _C.ones(x.shape, dtype=_C.float64)
    if x.layout is _C.sparse_coo:
        if x.numel() == 0:
            return x
        full = ones.to_sparse(x.sparse_dim()) if x.dim() else ones.to_sparse()
    else:
        if x.numel() == 0 or batch_dims(x) == x.dim():
            return x
        blocksize = blocksize_of(x) if x.layout in BLOCKED else None
        full = ones.to_sparse(layout=x.layout, blocksize=blocksize, dense_dim=x.dense_dim())
    result = x.to_dense().sparse_mask(full)
    return result if result.layout in COMPRESSED else result.coalesce()

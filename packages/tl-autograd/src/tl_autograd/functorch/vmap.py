"""`vmap` from batches that are given apart from their dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_autograd.func.levels import BATCH, Level
from tl_autograd.func.vmap import _flat_inputs, spread, vmap
from tl_core import Tensor
from tl_core.pytree import TreeSpec, tree_flatten, tree_unflatten

__all__ = ["in_dims_t", "out_dims_t", "restore_vmap", "vmap", "vmap_impl"]

in_dims_t = int | tuple
out_dims_t = int | tuple[int, ...]


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., Any]:
    """The function of batches that returns (outputs, their dimensions), None for those without a batch.

    Args:
        func: a function of one example.
        in_dims: the dimension of the batch in each argument, structured as they are; None: it has none.
        batch_size: how many examples there are, even where no argument has a batch.
        randomness: as in `vmap`.
    """

    def batched(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(in_dims, spec)
        with Level(BATCH, batch_size, randomness) as level:
            inside = [
                x if d is None or not isinstance(x, Tensor) else _C.wrap_batch(x, d % x.dim(), level.serial)
                for x, d in zip(flat, dims or [], strict=True)
            ]
            outputs, out_spec = tree_flatten(func(*tree_unflatten(inside, spec), **kwargs))
            found = [_C.unwrap(y, level.serial) if isinstance(y, Tensor) else None for y in outputs]
        values = [y if f is None else f[0] for y, f in zip(outputs, found, strict=True)]
        where = [None if f is None else f[1] for f in found]
        return tree_unflatten(values, out_spec), tree_unflatten(where, out_spec)

    return batched


def vmap_impl(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`vmap(func, ...)(*args, **kwargs)`.

    Args:
        func: the function.
        in_dims: the batch dimension of each argument; None for none.
        out_dims: the batch dimension of each result.
        randomness: "error", "different" or "same".
        chunk_size: how many samples are computed at a time; None for all.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)


def _broadcast_to_and_flatten(tree: Any, spec: TreeSpec, is_leaf: Any = None) -> list | None:
    """One entry of `tree` for each leaf of the structure; None if they do not fit."""
    return spread(tree, spec)


def _process_batched_inputs(in_dims: Any, args: tuple, func: Callable[..., Any]) -> tuple:
    """(size of the batch, dimension of each leaf, leaves, structure)."""
    return _flat_inputs(in_dims, args, func)


def _add_batch_dim(x: Tensor, dim: int, level: int) -> Tensor:
    from tl_autograd.functorch import native

    return native._add_batch_dim(x, dim, level)


def _remove_batch_dim(x: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    from tl_autograd.functorch import native

    return native._remove_batch_dim(x, level, batch_size, out_dim)

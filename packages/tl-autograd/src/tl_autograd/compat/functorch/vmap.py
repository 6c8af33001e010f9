"""`vmap` from batches that are given apart from their dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_autograd.func.levels import BATCH, Level
from tl_autograd.func.substitutes import watch
from tl_autograd.func.vmap import _flat_inputs, vmap
from tl_autograd.func.vmap import _name as _get_name  # noqa: F401 - a name for others
from tl_core import Tensor
from tl_core.pytree import broadcast_leaves, tree_flatten, tree_unflatten

__all__ = ["in_dims_t", "out_dims_t", "restore_vmap", "vmap", "vmap_impl"]

in_dims_t = int | tuple
out_dims_t = int | tuple[int, ...]
_broadcast_to_and_flatten = broadcast_leaves


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

    def run_batch(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten(args)
        dims = broadcast_leaves(in_dims, spec)
        with Level(BATCH, batch_size, randomness) as level:
            inside = [
                x if d is None or not isinstance(x, Tensor) else _C.wrap_batch(x, d % x.dim(), level.serial)
                for x, d in zip(flat, dims or [], strict=True)
            ]
            outputs, out_spec = tree_flatten(func(*tree_unflatten(inside, spec), **kwargs))
            contents = [_C.unwrap(y, level.serial) if isinstance(y, Tensor) else None for y in outputs]
        values = [y if c is None else c[0] for y, c in zip(outputs, contents, strict=True)]
        where = [None if c is None else c[1] for c in contents]
        return tree_unflatten(values, out_spec), tree_unflatten(where, out_spec)

    return run_batch


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


def _process_batched_inputs(in_dims: Any, args: tuple, func: Callable[..., Any]) -> tuple:
    """(size of the batch, dimension of each leaf, leaves, structure)."""
    return _flat_inputs(in_dims, args, func)


def _add_batch_dim(x: Tensor, dim: int, level: int) -> Tensor:
    from tl_autograd.compat.functorch import native

    return native._add_batch_dim(x, dim, level)


watch("_add_batch_dim", globals())


def _remove_batch_dim(x: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    from tl_autograd.compat.functorch import native

    return native._remove_batch_dim(x, level, batch_size, out_dim)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """What a function of one example has returned, as a batch; as it is where it shall have none."""
    from tl_autograd.compat.functorch import native

    is_tensor = isinstance(batched_output, Tensor)
    if out_dim is None:
        if is_tensor and native.is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` returns a batch where `out_dims` is None")
        return batched_output
    if not is_tensor:
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to "
            f"set `out_dims=` to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)

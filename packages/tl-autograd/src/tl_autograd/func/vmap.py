"""`vmap`: functions of one example, run on a batch."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import _C
from tl_autograd.func.levels import BATCH, RANDOMNESS, Level
from tl_autograd.func.substitutes import substitute
from tl_core import Tensor
from tl_core.pytree import TreeSpec, broadcast_leaves, tree_flatten, tree_unflatten

__all__ = ["vmap"]

Dims = Any


loops = {"allowed": True, "warned": True}


def _met_loop(operator: str) -> None:
    """Warns that an operator runs one example of a batch after the other, or raises RuntimeError."""
    if not loops["allowed"]:
        raise RuntimeError(
            f"vmap: Batching rule not implemented for aten::{operator}, and the fallback, one example after the other, "
            "is disabled"
        )
    if loops["warned"]:
        warnings.warn(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{operator}: "
            "it runs for one example after the other.",
            UserWarning,
            stacklevel=2,
        )


_C.set_loop_warner(_met_loop)


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that runs `func` on every example of a batch, without a loop over them.

    Each operator that `func` calls runs once, on the whole batch.

    Args:
        func: a function of one example; takes tensors and nested containers of them, returns tensors.
        in_dims: the batch dimension of each argument: a number for all of them, or a structure like the arguments'.
            None: the argument is the same for all examples.
        out_dims: the batch dimension of the results: a number for all of them, or a structure like the results'.
        randomness: the behaviour of random operators: "error" refuses them, "different" draws for each example, "same"
            draws once for all.
        chunk_size: the number of examples that are computed at a time; None computes all.

    Returns:
        A function of batches.

    Raises:
        ValueError: `in_dims` or `out_dims` do not fit, sizes of batches differ, or no argument has a batch.
        RuntimeError: the function asks for the value of a batched tensor, or draws with randomness="error".

    Example::

        >>> from tl_autograd.func import vmap
        >>> vmap(tl_core.dot)(tl_core.ones(3, 2), tl_core.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    code = RANDOMNESS.index(randomness)

    @functools.wraps(func)
    def run_batch(*args: Any, **kwargs: Any) -> Any:
        if chunk_size is None and substitute("_add_batch_dim") is None:
            entered = _C.enter_batch(args, in_dims, code)
            if entered is not None:
                return _run_plain(func, entered, out_dims, kwargs)
        size, dims, flat, spec = _flat_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return _run(func, size, dims, flat, spec, out_dims, randomness, kwargs)
        return _run_in_chunks(func, size, dims, flat, spec, out_dims, randomness, kwargs, chunk_size)

    return run_batch


def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """`vmap` in several chunks, for less memory.

    Args:
        func, in_dims, out_dims, randomness: the arguments of `vmap`.
        chunks: the number of chunks.
    """
    if chunks == 1:
        return vmap(func, in_dims, out_dims, randomness)

    @functools.wraps(func)
    def run_batch(*args: Any, **kwargs: Any) -> Any:
        size = _flat_inputs(in_dims, args, func)[0]
        step = max(1, -(-size // chunks))
        return vmap(func, in_dims, out_dims, randomness, chunk_size=step)(*args, **kwargs)

    return run_batch


def _name(func: Callable) -> str:
    return getattr(func, "__name__", repr(func))


def _flat_inputs(in_dims: Dims, args: tuple, func: Callable) -> tuple[int, list, list, TreeSpec]:
    """(size of the batch, dimension of each leaf, leaves, structure)."""
    name = _name(func)
    start = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{start}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = broadcast_leaves(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{start}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_check_dim(x, d, start) for x, d in zip(flat, dims, strict=True)]
    return _batch_size(dims, flat, start), dims, flat, spec


def _check_dim(x: Any, dim: Any, start: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    if x.is_nested:
        raise NotImplementedError(
            f"{start}nested tensors are no batch of examples of one shape: unbind() gives them, or in_dim=None"
        )
    if not -x.dim() <= dim < x.dim():
        raise ValueError(
            f"{start}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.dim()} so "
            f"expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
        )
    return dim % x.dim()


def _batch_size(dims: list, flat: list, start: str) -> int:
    sizes = [x.size(d) for x, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError(
            f"{start}at least one Tensor must be mapped over: expected some non-None in_dim, got only None"
        )
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def _run(
    func: Callable,
    size: int,
    dims: list,
    flat: list,
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict,
) -> Any:
    with Level(BATCH, size, randomness) as level:
        add = substitute("_add_batch_dim") or _C.wrap_batch
        number = level.serial if add is _C.wrap_batch else _C.top_level()[2]
        inside = [x if d is None else add(x, d, number) for x, d in zip(flat, dims, strict=True)]
        result = func(*tree_unflatten(inside, spec), **kwargs)
        outputs, out_spec = tree_flatten(result)
        contents = [_C.unwrap(y, level.serial) if isinstance(y, Tensor) else None for y in outputs]
    return _put_together(func, outputs, out_spec, contents, out_dims, size)


def _run_plain(func: Callable, entered: tuple, out_dims: Dims, kwargs: dict) -> Any:
    """Calls the function on tensors that `_C.enter_batch` has wrapped."""
    level, inside = entered
    try:
        result = func(*inside, **kwargs)
        batch = _C.leave_batch(level, result, out_dims)
        if batch is not None:
            return batch
        size = _C.top_level()[3]
        outputs, spec = tree_flatten(result)
        contents = [_C.unwrap(y, level) if isinstance(y, Tensor) else None for y in outputs]
    finally:
        _C.end_level(level)
    return _put_together(func, outputs, spec, contents, out_dims, size)


def _put_together(
    func: Callable, outputs: list, spec: TreeSpec, contents: list, out_dims: Dims, size: int
) -> Any:
    name = _name(func)
    where = _flat_out_dims(out_dims, outputs, spec, name)
    values = [_take_out(y, c, d, size, name) for y, c, d in zip(outputs, contents, where, strict=True)]
    return tree_unflatten(values, spec)


def _flat_out_dims(out_dims: Dims, outputs: list, spec: TreeSpec, name: str) -> list:
    if out_dims is not None and not isinstance(out_dims, (int, tuple, list, dict)):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            f"representing where in the outputs the vmapped dimension should appear, got {type(out_dims)}"
        )
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    flat = broadcast_leaves(out_dims, spec)
    if flat is None and isinstance(out_dims, tuple) and not spec.is_leaf():
        flat = broadcast_leaves(list(out_dims), spec)
    if flat is not None and not all(d is None or isinstance(d, int) for d in flat):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear"
        )
    if flat is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return flat


def _take_out(y: Any, contents: tuple | None, where: int | None, size: int, name: str) -> Any:
    if not isinstance(y, Tensor) and where is not None:
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(y)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    if where is None:
        if contents is not None:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return y
    if contents is None:
        value, dim = y.unsqueeze(0).expand(size, *y.shape), 0
    else:
        value, dim = contents
    if not -value.dim() <= where < value.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-value.dim()}, {value.dim() - 1}], but got {where})"
        )
    where %= value.dim()
    return value if where == dim else value.movedim(dim, where)


def _run_in_chunks(
    func: Callable,
    size: int,
    dims: list,
    flat: list,
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict,
    chunk: int,
) -> Any:
    parts: list[list] = []
    out_spec = None
    state = tl_core.get_rng_state() if randomness == "same" else None  # each chunk draws the same numbers
    for begin in range(0, size, chunk):
        if state is not None:
            tl_core.set_rng_state(state)
        n = min(chunk, size - begin)
        piece = [x if d is None else x.narrow(d, begin, n) for x, d in zip(flat, dims, strict=True)]
        result = _run(func, n, dims, piece, spec, out_dims, randomness, kwargs)
        outputs, out_spec = tree_flatten(result)
        parts.append(outputs)
    assert out_spec is not None
    where = broadcast_leaves(out_dims, out_spec)
    if where is None and isinstance(out_dims, tuple):
        where = broadcast_leaves(out_dims[0] if len(out_dims) == 1 else list(out_dims), out_spec)
    assert where is not None
    joined = [
        pieces[0] if d is None else tl_core.cat(pieces, d)
        for pieces, d in zip(zip(*parts, strict=True), where, strict=True)
    ]
    return tree_unflatten(joined, out_spec)

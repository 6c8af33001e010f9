"""The `vmap` of earlier versions of PyTorch, with stricter checks of arguments and results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_autograd.func.vmap import _name
from tl_autograd.func.vmap import vmap as _transform
from tl_core import Tensor
from tl_core.overrides import is_tensor_like as _is_tensor_like
from tl_core.pytree import tree_leaves

__all__ = ["vmap"]

Dims = int | tuple


def vmap(func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0) -> Callable[..., Any]:
    """`tl_autograd.func.vmap` for functions that return a tensor or a tuple of tensors.

    Args:
        func: a function of one example.
        in_dims: the batch dimension of each argument, not negative; None for an argument without a batch.
        out_dims: the batch dimension of the results: a number, or a tuple with one for each result.

    Returns:
        A function of batches.

    Raises:
        ValueError: `in_dims` or `out_dims` do not fit, sizes of batches differ, or a result is no tensor.

    Example:
        >>> from tl_autograd.func import older_vmap
        >>> older_vmap.vmap(tl_core.dot)(tl_core.ones(3, 2), tl_core.ones(3, 2))
        tensor([2., 2., 2.])
    """
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """`vmap`. With `allow_none_pass_through`, results may be None."""

    @functools.wraps(func)
    def run_batch(*args: Any) -> Any:
        _check_out_dims(out_dims, func)
        _check_from_the_front(in_dims, args, func)
        single: list[bool] = []
        missing: set[int] = set()

        def of_tensors(*inside: Any) -> tuple:
            _C.mark_older()
            outputs = func(*inside)
            single.append(_is_tensor_like(outputs))
            many = (outputs,) if single[-1] else outputs
            _check_outputs(many, func, allow_none_pass_through)
            missing.update(i for i, y in enumerate(many) if y is None)
            _check_one_dim_each(out_dims, many, func)
            return tuple(y for y in many if y is not None)

        results = _transform(of_tensors, in_dims, 0)(*args)
        return _move_batches(results, out_dims, single[-1], missing)

    return run_batch


def _move_batches(results: tuple, out_dims: Dims, single: bool, missing: set[int]) -> Any:
    """The results, whose batch is first, with the batch at `out_dims`."""
    values, outputs = iter(results), []
    for i in range(len(results) + len(missing)):
        where = out_dims if isinstance(out_dims, int) else out_dims[i]
        value = None if i in missing else next(values)
        outputs.append(value if value is None or where == 0 else value.movedim(0, where))
    return outputs[0] if single else tuple(outputs)


def _check_out_dims(out_dims: Any, func: Callable) -> None:
    if isinstance(out_dims, int) or (
        isinstance(out_dims, tuple) and all(isinstance(d, int) for d in out_dims)
    ):
        return
    raise ValueError(
        f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int or a tuple of int, which say where "
        "the results have their batch"
    )


def _check_from_the_front(in_dims: Any, args: tuple, func: Callable) -> None:
    """Refuses negative dimensions. The transform itself checks the rest."""
    low = [d for d in tree_leaves(in_dims) if isinstance(d, int) and d < 0]
    first = next((x for x in tree_leaves(args) if isinstance(x, Tensor)), None)
    if low and first is not None:
        n = first.dim()
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={low[0]} for some input, but that "
            f"input is a Tensor of dimensionality {n} so expected in_dim to satisfy 0 <= in_dim < {n}."
        )


def _check_outputs(outputs: Any, func: Callable, none_passes: bool) -> None:
    name = _name(func)
    if not isinstance(outputs, tuple):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(outputs)} as the return."
        )
    for i, y in enumerate(outputs):
        if not _is_tensor_like(y) and not (none_passes and y is None):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(y)} for return {i}."
            )


def _check_one_dim_each(out_dims: Dims, outputs: tuple, func: Callable) -> None:
    if isinstance(out_dims, tuple) and len(out_dims) != len(outputs):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got "
            f"{len(outputs)} outputs) of {_name(func)}."
        )

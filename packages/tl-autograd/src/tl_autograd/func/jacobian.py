"""Jacobians and Hessians, all rows or all columns at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd.func.arguments import Argnums, normalize, replace, select
from tl_autograd.func.grad import vjp
from tl_autograd.func.jvp import jvp
from tl_autograd.func.vmap import vmap
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten

__all__ = ["hessian", "jacfwd", "jacrev"]


def _basis(tensors: list[Tensor], begin: int, end: int) -> list[Tensor]:
    """Rows begin … end of the identity on the tensors' elements, cut into shapes of the tensors."""
    blocks, offset = [], 0
    for t in tensors:
        n = t.numel()
        rows = tl_core.arange(begin - offset, end - offset, device=t.device).unsqueeze(1)
        columns = tl_core.arange(n, device=t.device)
        blocks.append((rows == columns).to(t.dtype).reshape((end - begin, *t.shape)))
        offset += n
    return blocks


def _chunks(total: int, size: int | None) -> list[tuple[int, int]]:
    step = total if size is None else size
    return [(b, min(b + step, total)) for b in range(0, total, step)] if total else []


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`, with its rows as a batch, by reverse mode.

    Args:
        func: takes and returns tensors, or nested containers of them.
        argnums: the positional argument, or arguments, to differentiate with respect to.
        has_aux: whether `func` returns a pair, whose second part is handed on.
        chunk_size: the number of rows that are computed at a time; None computes all.

    Returns:
        A function of the same arguments, whose results have shape (*output, *input). Their structure is that of the
        output, with the structure of the input in each leaf.

    Raises:
        ValueError: `chunk_size` is not positive.
        RuntimeError: `func` does not return tensors, or inputs are not floating-point or complex.

    Example::

        >>> from tl_autograd.func import jacrev
        >>> jacrev(lambda x: x * x)(tl_core.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = normalize(argnums, len(args))
        at = select(args, numbers)
        flat, spec = tree_flatten(at)
        _check_real(flat, "jacrev", "inputs")

        def of_flat(*leaves: Tensor) -> Any:
            return func(*replace(args, numbers, tree_unflatten(leaves, spec)), **kwargs)

        value, pull, *aux = vjp(of_flat, *flat, has_aux=has_aux)
        outputs, out_spec = tree_flatten(value)
        _check_real(outputs, "jacrev", "outputs")
        rows = _rows(pull, outputs, out_spec, flat, chunk_size)
        result = _arrange_rows(rows, outputs, out_spec, flat, spec)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _rows(pull: Callable, outputs: list, out_spec: Any, flat: list, chunk_size: int | None) -> list[Tensor]:
    """The rows for each input, of shape (elements of all outputs, *input)."""
    total = sum(y.numel() for y in outputs)

    def from_flat(*cotangents: Tensor) -> tuple:
        return pull(tree_unflatten(cotangents, out_spec))

    parts = []
    for begin, end in _chunks(total, chunk_size):
        basis = _basis(outputs, begin, end)
        if end - begin == 1:
            parts.append([g.unsqueeze(0) for g in from_flat(*(b.squeeze(0) for b in basis))])
        else:
            parts.append(list(vmap(from_flat)(*basis)))
    if not parts:
        return [x.new_zeros((0, *x.shape)) for x in flat]
    return [p[0] if len(p) == 1 else tl_core.cat(p) for p in zip(*parts, strict=True)]


def _arrange_rows(rows: list[Tensor], outputs: list, out_spec: Any, flat: list, spec: Any) -> Any:
    sizes = [y.numel() for y in outputs]
    by_input = [r.split(sizes) for r in rows]
    blocks = []
    for i, y in enumerate(outputs):
        parts = [pieces[i].reshape((*y.shape, *x.shape)) for pieces, x in zip(by_input, flat, strict=True)]
        blocks.append(tree_unflatten(parts, spec))
    return tree_unflatten(blocks, out_spec)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`, with its columns as a batch, by forward mode.

    Args:
        func: takes and returns tensors, or nested containers of them.
        argnums: the positional argument, or arguments, to differentiate with respect to.
        has_aux: whether `func` returns a pair, whose second part is handed on.
        randomness: the argument of `vmap`, for random operators in `func`.

    Returns:
        A function of the same arguments, whose results have shape (*output, *input).

    Raises:
        RuntimeError: `func` does not return tensors, or inputs are not floating-point or complex.

    Example::

        >>> from tl_autograd.func import jacfwd
        >>> jacfwd(lambda x: x * x)(tl_core.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = normalize(argnums, len(args))
        at = select(args, numbers)
        flat, spec = tree_flatten(at)
        _check_inputs(flat)
        _check_real(flat, "jacfwd", "inputs")

        def of_flat(*leaves: Tensor) -> Any:
            return func(*replace(args, numbers, tree_unflatten(leaves, spec)), **kwargs)

        def push(*basis: Tensor) -> Any:
            result = jvp(of_flat, tuple(flat), basis, has_aux=has_aux)
            _check_real(tree_flatten(result[1])[0], "jacfwd", "outputs")
            return result[1:] if has_aux else (result[1], ())

        total = sum(x.numel() for x in flat)
        columns, aux = vmap(push, out_dims=(-1, None) if has_aux else (-1, 0), randomness=randomness)(
            *_basis(flat, 0, total)
        )
        result = _arrange_columns(columns, flat, spec)
        return (result, aux) if has_aux else result

    return jacobian


def _check_real(leaves: list, transform: str, what: str) -> None:
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(
                f"{transform}: Expected all {what} to be real but received complex tensor at flattened {what[:-1]} "
                f"idx: {i}"
            )


def _check_inputs(flat: list) -> None:
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"jacfwd: Expected all inputs to be differentiated to be Tensors, got {type(x).__name__}"
            )
    if not flat:
        raise RuntimeError("jacfwd: Expected at least one Tensor to differentiate with respect to")


def _arrange_columns(columns: Any, flat: list, spec: Any) -> Any:
    leaves, out_spec = tree_flatten(columns)
    sizes = [x.numel() for x in flat]
    blocks = []
    for block in leaves:
        pieces = block.split(sizes, -1)
        parts = [p.reshape((*block.shape[:-1], *x.shape)) for p, x in zip(pieces, flat, strict=True)]
        blocks.append(tree_unflatten(parts, spec))
    return tree_unflatten(blocks, out_spec)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the Hessian of `func`, by forward over reverse mode.

    Args:
        func: returns a tensor, of one element as a rule.
        argnums: the positional argument, or arguments, to differentiate with respect to.

    Returns:
        A function of the same arguments, whose results have shape (*output, *input, *input).

    Example::

        >>> from tl_autograd.func import hessian
        >>> hessian(lambda x: (x * x).sum())(tl_core.ones(2))
        tensor([[2., 0.],
                [0., 2.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)

"""The transforms that differentiate, and the helpers beside them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tl_autograd.compat.functorch.native import (
    _grad_decrement_nesting,
    _grad_increment_nesting,
    _jvp_decrement_nesting,
    _jvp_increment_nesting,
    _wrap_for_grad,
    _wrap_functional_tensor,
)
from tl_autograd.func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from tl_autograd.func.arguments import Argnums, normalize, replace, select
from tl_autograd.func.functionalize import outside
from tl_autograd.func.substitutes import watch
from tl_core import Tensor
from tl_core.pytree import tree_map, tree_map_only

__all__ = [
    "functionalize",
    "grad",
    "grad_and_value",
    "grad_impl",
    "grad_increment_nesting",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "jvp_increment_nesting",
    "linearize",
    "noop",
    "vjp",
]


def noop() -> None:
    """Does nothing."""


@contextlib.contextmanager
def grad_increment_nesting() -> Iterator[int]:
    """A level of gradients; its number."""
    level = _grad_increment_nesting()
    try:
        yield level
    finally:
        _grad_decrement_nesting()


@contextlib.contextmanager
def jvp_increment_nesting() -> Iterator[int]:
    """A level of tangents; its number."""
    level = _jvp_increment_nesting()
    try:
        yield level
    finally:
        _jvp_decrement_nesting()


def grad_impl(func: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple, kwargs: dict) -> Any:
    """`grad(func, argnums, has_aux)(*args, **kwargs)`.

    Args:
        func: the function.
        argnums: the number of the argument, or several.
        has_aux: whether the function also returns what isn't differentiated.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return grad(func, argnums, has_aux)(*args, **kwargs)


def grad_and_value_impl(
    func: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple, kwargs: dict
) -> Any:
    """`grad_and_value(func, argnums, has_aux)(*args, **kwargs)`."""
    return grad_and_value(func, argnums, has_aux)(*args, **kwargs)


def _slice_argnums(args: tuple, argnums: Argnums, as_tuple: bool = True) -> Any:
    """The arguments of these numbers."""
    selection = select(args, normalize(argnums, len(args)))
    return (selection,) if as_tuple and isinstance(argnums, int) else selection


def _replace_args(old_args: tuple, new_args: Any, argnums: Argnums) -> tuple:
    """The arguments with others in the place of those of these numbers."""
    values = new_args[0] if isinstance(argnums, int) else new_args
    return replace(old_args, normalize(argnums, len(old_args)), values)


def _vjp_with_argnums(
    func: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False
) -> Any:
    """`vjp` in some of the arguments; the product then gives what belongs to these."""
    if argnums is None:
        return vjp(func, *primals, has_aux=has_aux)
    numbers = normalize(argnums, len(primals))
    at = select(primals, numbers)
    result = vjp(lambda x: func(*replace(primals, numbers, x)), at, has_aux=has_aux)
    pull = result[1]
    return (result[0], lambda *cotangents, **options: pull(*cotangents, **options)[0], *result[2:])


def _jvp_with_argnums(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    argnums: Argnums | None,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """`jvp` in some of the arguments."""
    if argnums is None:
        return jvp(func, primals, tangents, strict=strict, has_aux=has_aux)
    numbers = normalize(argnums, len(primals))
    at, along = select(primals, numbers), tangents
    if isinstance(numbers, int):
        at, along = (at,), along if isinstance(along, tuple) else (along,)

    def of_chosen(*x: Any) -> Any:
        return func(*replace(primals, numbers, x[0] if isinstance(numbers, int) else x))

    return jvp(of_chosen, at, along, strict=strict, has_aux=has_aux)


def _wrap_tensor_for_grad(maybe_tensor: Any, level: int) -> Any:
    """A tensor at a level of gradients; any other object itself."""
    return _wrap_for_grad(maybe_tensor, level) if isinstance(maybe_tensor, Tensor) else maybe_tensor


watch("_wrap_tensor_for_grad", globals())


def _wrap_all_tensors(tensor_pytree: Any, level: int) -> Any:
    """The tree with its tensors at a level of gradients."""
    return tree_map(lambda x: _wrap_tensor_for_grad(x, level), tensor_pytree)


def _wrap_all_tensors_to_functional(tensor_pytree: Any, level: int) -> Any:
    """The tree with tensors of a level without writes."""
    return tree_map_only(Tensor, lambda x: _wrap_functional_tensor(x, level), tensor_pytree)


def _unwrap_all_tensors_from_functional(tensor_pytree: Any, *, reapply_views: bool) -> Any:
    """The tree with the values of tensors of a level without writes."""
    return tree_map_only(Tensor, outside, tensor_pytree)

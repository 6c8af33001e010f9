"""Reverse mode: gradients, and products with the transposed Jacobian."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import _C
from tl_autograd.func.arguments import Argnums, normalize, replace, select
from tl_autograd.func.levels import GRAD, Level, tensors_mapped
from tl_autograd.func.substitutes import substitute
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten
from tl_core.tensors.parameter import as_leaf

__all__ = ["grad", "grad_and_value", "vjp"]


def _follow_tree(tree: Any, level: Level, transform: str) -> tuple[Any, list[Tensor]]:
    """(the tree with tensors that the level differentiates with respect to, a list of those tensors)."""
    leaves, spec = tree_flatten(tree)
    inputs = [_follow_leaf(x, level, transform) for x in leaves]
    return tree_unflatten(inputs, spec), inputs


def _follow_leaf(x: Any, level: Level, transform: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{transform}: Expected all inputs to be differentiated to be Tensors, got {type(x).__name__}. Pass "
            "what is not differentiated as another argument, or choose by argnums."
        )
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{transform}: only Tensors of floating point and complex dtype can require gradients, "
                           f"got {x.dtype}")  # fmt: skip
    wrap = substitute("_wrap_tensor_for_grad")
    return _C.follow(x, level.serial) if wrap is None else as_leaf(wrap(x, _C.top_level()[2]))


def _pull(
    outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor | None], create: bool
) -> list[Tensor | None]:
    """The gradients with respect to the inputs; None for an input that no output depends on."""
    used = [(y, v) for y, v in zip(outputs, cotangents, strict=True) if y.requires_grad]
    if not used or not inputs:
        return [None] * len(inputs)
    roots, vectors = zip(*used, strict=True)
    return list(_C.run_backward(roots, vectors, create, create, tuple(inputs), True, False))


def _or_zeros(g: Tensor | None, x: Tensor, level: Level) -> Tensor:
    """The gradient outside of the level."""
    if g is None:
        return tl_core.zeros_like(level.unwrap(x))
    return level.unwrap(g)


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of `func` and its value.

    Args:
        func: returns a tensor of one element; with `has_aux` a pair of it and anything else.
        argnums: the positional argument, or arguments, to differentiate with respect to; each may be a nested
            container of tensors.
        has_aux: whether `func` returns a pair, whose second part is handed on.

    Returns:
        A function of the same arguments. It returns (gradient, value), or (gradient, (value, auxiliary)).

    Raises:
        RuntimeError: the value is no tensor of one element, or `argnums` names no argument.

    Example::

        >>> from tl_autograd.func import grad_and_value
        >>> grad_and_value(lambda x: x * x)(tl_core.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        is_plain = not has_aux and substitute("_wrap_tensor_for_grad") is None
        if is_plain and type(argnums) is int and 0 <= argnums < len(args):
            entered = _C.enter_gradient(args[argnums])
            if entered is not None:
                return _of_one_tensor(func, args, argnums, entered, kwargs)
        numbers = normalize(argnums, len(args))
        with Level(GRAD) as level:
            tree, inputs = _follow_tree(select(args, numbers), level, "grad")
            result = func(*replace(args, numbers, tree), **kwargs)
            output, aux = _with_aux(result, has_aux)
            _check_scalar(output)
            gradients = _pull([output], inputs, [None], False)
            value = level.unwrap(output)
            aux = tensors_mapped(level.unwrap, aux)
        grads = [_or_zeros(g, x, level) for g, x in zip(gradients, inputs, strict=True)]
        gradient = tree_unflatten(grads, tree_flatten(tree)[1])
        return (gradient, (value, aux)) if has_aux else (gradient, value)

    return both


def _of_one_tensor(func: Callable, args: tuple, number: int, entered: tuple, kwargs: dict) -> Any:
    """The gradient with respect to the entered tensor, and the value."""
    level, x = entered
    try:
        output = func(*args[:number], x, *args[number + 1 :], **kwargs)
        result = _C.gradient_at(level, output, x)
        if result is None:
            _check_scalar(output)
            output = output.as_subclass(Tensor)  # a scalar of another class
            result = _C.gradient_at(level, output, x)
        return result
    finally:
        _C.leave_gradient(level)


def _with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    _check_aux(result[1])
    return result


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output).__name__}"
        )
    if output.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
            f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that returns the gradient of `func`.

    Args:
        func: returns a tensor of one element; with `has_aux` a pair of it and anything else.
        argnums: the positional argument, or arguments, to differentiate with respect to; each may be a nested
            container of tensors.
        has_aux: whether `func` returns a pair, whose second part is handed on.

    Returns:
        A function of the same arguments. It returns the gradient, or (gradient, auxiliary).

    Raises:
        RuntimeError: the value is no tensor of one element, or `argnums` names no argument.

    Example::

        >>> from tl_autograd.func import grad
        >>> grad(grad(lambda x: x * x * x))(tl_core.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result = both(*args, **kwargs)
        return (result[0], result[1][1]) if has_aux else result[0]

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that multiplies vectors with its Jacobian from the left.

    Args:
        func: takes and returns tensors, or nested containers of them; with `has_aux` a pair of such and anything
            else.
        primals: the arguments of `func`.
        has_aux: whether `func` returns a pair, whose second part is handed on.

    Returns:
        (value, product), or (value, product, auxiliary). `product` takes cotangents in the structure of the value and
        returns a tuple with one result for each of `primals`. It may be called any number of times.

    Raises:
        RuntimeError: `func` returns other objects than tensors, or cotangents have another structure.

    Example::

        >>> from tl_autograd.func import vjp
        >>> value, product = vjp(lambda x: x.sin(), tl_core.zeros(2))
        >>> product(tl_core.tensor([1.0, 2.0]))
        (tensor([1., 2.]),)
    """
    with Level(GRAD) as level:
        tree, inputs = _follow_tree(primals, level, "vjp")
        result = func(*tree)
        aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            result, aux = result
            _check_aux(aux)
            aux = tensors_mapped(level.unwrap, aux)
        outputs, spec = tree_flatten(result)
        _check_tensors(outputs, "vjp(f, *primals)")
        # A view of a tensor that was written finds its place in the graph only while the level is on.
        recorded = [y.requires_grad for y in outputs]
        values = [level.unwrap(y) for y in outputs]
    in_spec = tree_flatten(primals)[1]

    def product(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors, vector_spec = tree_flatten(cotangents)
        if vector_spec != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {vector_spec}, primal output: {spec}"
            )
        for v, y in zip(vectors, values, strict=True):
            if v.shape != y.shape:
                raise RuntimeError(f"Mismatch in shape: a cotangent has shape {tuple(v.shape)}, the output it belongs "
                                   f"to {tuple(y.shape)}")  # fmt: skip
        create = tl_core.is_grad_enabled() if create_graph is None else create_graph
        used = [(y, v) for y, v, records in zip(outputs, vectors, recorded, strict=True) if records]
        gradients = _pull_later(used, inputs, create)
        grads = [_or_zeros(g, x, level) for g, x in zip(gradients, inputs, strict=True)]
        return tree_unflatten(grads, in_spec)

    output = tree_unflatten(values, spec)
    return (output, product, aux) if has_aux else (output, product)


def _pull_later(used: list[tuple[Tensor, Any]], inputs: list[Tensor], create: bool) -> list[Tensor | None]:
    """The gradients of recorded outputs with their cotangents, after the end of the level.

    The graph stays for the next call.
    """
    if not used or not inputs:
        return [None] * len(inputs)
    roots, vectors = zip(*used, strict=True)
    return list(_C.run_backward(roots, vectors, True, create, tuple(inputs), True, False))


def _check_tensors(leaves: list, transform: str) -> None:
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{transform}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"{transform}: expected f(*primals) to return only tensors, got unsupported type {type(x).__name__}"
            )


def _check_aux(aux: Any) -> None:
    for x in tree_flatten(aux)[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(x).__name__} in the auxiliary output"
            )

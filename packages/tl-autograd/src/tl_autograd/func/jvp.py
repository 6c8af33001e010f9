"""Forward mode: operators compute tangents beside values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import _C
from tl_autograd.func.duals import alias, dual
from tl_autograd.func.functionalize import functionalize
from tl_autograd.func.grad import _check_aux, _check_tensors
from tl_autograd.func.levels import JVP, Level, tensors_mapped
from tl_core import Tensor
from tl_core.overrides import has_torch_function_unary
from tl_core.pytree import tree_flatten, tree_unflatten

__all__ = ["jvp", "linearize"]


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of a function, and the product of its Jacobian with a vector, in one pass.

    Args:
        func: takes and returns tensors, or nested containers of them.
        primals: a tuple with the arguments.
        tangents: a tuple with the vector, in the structure of `primals`.
        strict: raise an error if an output depends on no input, instead of returning zeros.
        has_aux: whether `func` returns a pair, whose second part is handed on.

    Returns:
        (value, product), or (value, product, auxiliary).

    Raises:
        RuntimeError: structures or shapes differ, or `func` does not return tensors.

    Example::

        >>> from tl_autograd.func import jvp
        >>> jvp(lambda x: x * x, (tl_core.tensor(3.0),), (tl_core.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to "
                           f"call f(*primals); got {type(primals).__name__}")  # fmt: skip
    flat, spec = tree_flatten(primals)
    vectors, vector_spec = tree_flatten(tangents)
    if spec != vector_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For "
            f"example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} "
            f"and tangents with structure {vector_spec}"
        )
    _check_primals(flat, vectors)
    return _push(func, flat, vectors, spec, strict, has_aux)


def _check_primals(flat: list, vectors: list) -> None:
    for name, leaves in (("primals", flat), ("tangents", vectors)):
        if not leaves:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to be a non-empty structure with at least "
                               "one Tensor")  # fmt: skip
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got "
                                   f"unsupported type {type(x).__name__}")  # fmt: skip
    for x, v in zip(flat, vectors, strict=True):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
        if x.shape != v.shape:
            raise RuntimeError(
                f"Expected tangent to have the same size as its primal, but got primal of shape {tuple(x.shape)} and "
                f"tangent of shape {tuple(v.shape)}"
            )


def _push(func: Callable, flat: list, vectors: list, spec: Any, strict: bool, has_aux: bool) -> Any:
    duals = [x if has_torch_function_unary(x) else alias(x) for x in flat]
    before = _C.switch_tangents(True)
    try:
        return _push_at_level(func, duals, vectors, spec, strict, has_aux)
    finally:
        _C.switch_tangents(before)


def _push_at_level(func: Callable, duals: list, vectors: list, spec: Any, strict: bool, has_aux: bool) -> Any:
    with Level(JVP) as level:
        for i, (x, v) in enumerate(zip(duals, vectors, strict=True)):
            if has_torch_function_unary(x):
                duals[i] = dual(x, v, level.serial)
            else:
                _C.set_tangent(x, v, level.serial)
        result = func(*tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    "jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is "
                    "True"
                )
            result, aux = result
            _check_aux(aux)
        outputs, out_spec = tree_flatten(result)
        _check_tensors(outputs, "jvp(f, primals, tangents)")
        pushed = [_C.tangent(y, level.serial) for y in outputs]
        if strict and None in pushed:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
    values = [_C.without_tangents(y) for y in outputs]
    pushed = [tl_core.zeros_like(y) if v is None else v for v, y in zip(pushed, values, strict=True)]
    value, product = tree_unflatten(values, out_spec), tree_unflatten(pushed, out_spec)
    return (value, product, tensors_mapped(_C.without_tangents, aux)) if has_aux else (value, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its linear approximation at this point.

    The function runs once and records its operators with their arguments. Each call of the approximation takes tangents
    through the record by the rules of the operators, and not through `func`. For a single product `jvp` is faster.

    Args:
        func: takes and returns tensors, or nested containers of them.
        primals: the arguments of `func`.

    Returns:
        (value, product). `product` takes tangents like the arguments of `func`.

    Example::

        >>> from tl_autograd.func import linearize
        >>> value, product = linearize(lambda x: x * x, tl_core.tensor(3.0))
        >>> product(tl_core.tensor(1.0)), product(tl_core.tensor(2.0))
        (tensor(6.), tensor(12.))
    """
    flat, spec = tree_flatten(primals)
    _check_primals(flat, flat)
    line = _Line(func, flat, spec)

    def product(*tangents: Any) -> Any:
        vectors, vector_spec = tree_flatten(tangents)
        if vector_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {vector_spec} to have the same argspec as the primals {spec}: the same "
                "structure"
            )
        for x, v in zip(flat, vectors, strict=True):
            if x.shape != v.shape:
                raise RuntimeError(f"linearize: expected a tangent of shape {tuple(x.shape)} like its primal, got "
                                   f"shape {tuple(v.shape)}")  # fmt: skip
            if x.dtype != v.dtype:
                raise RuntimeError(
                    f"linearize: expected a tangent of dtype {x.dtype} like its primal, got {v.dtype}"
                )
        return line.product(vectors)

    return line.value, product


class _Line:
    """The record of a run of a function: its calls, in which writes have become results, and their primals."""

    def __init__(self, func: Callable[..., Any], flat: list, spec: Any):
        self._func, self._flat, self._spec = func, flat, spec
        self._duals = [alias(x) for x in flat]
        with Level(JVP) as level:
            self._tape = _C.begin_tape(level.serial)
            for x in self._duals:
                _C.set_tangent(x, tl_core.zeros_like(x), level.serial)
            result = functionalize(func)(*tree_unflatten(self._duals, spec))
            self._outputs, self._out_spec = tree_flatten(result)
            _check_tensors(self._outputs, "linearize(f, *primals)")
            _C.end_tape(level.serial)
        _C.clean_tape(self._tape)
        values = [_C.without_tangents(y).view_as(y) for y in self._outputs]
        self.value = tree_unflatten(values, self._out_spec)

    def product(self, vectors: list) -> Any:
        """Takes the vectors through the recorded calls."""
        if not _C.tape_is_whole(self._tape):  # a Function with a rule of its own took part
            primals, tangents = (tree_unflatten(leaves, self._spec) for leaves in (self._flat, vectors))
            return jvp(self._func, primals, tangents)[1]
        with Level(JVP) as level:
            for x, v in zip(self._duals, vectors, strict=True):
                _C.set_tangent(x, v, level.serial)
            _C.replay_tape(self._tape, level.serial)
            results = [_C.tangent(y, level.serial) for y in self._outputs]
        _C.clean_tape(self._tape)
        pushed = [
            tl_core.zeros_like(y) if v is None else v for v, y in zip(results, self._outputs, strict=True)
        ]
        return tree_unflatten(pushed, self._out_spec)

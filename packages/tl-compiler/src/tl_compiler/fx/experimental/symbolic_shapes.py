"""Symbolic sizes: their environment, and questions about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import tl_core
import tl_core.symbolic.arithmetic
from tl_compiler.symbolic.canonical_forms import expand, relation
from tl_compiler.symbolic.dims import (
    Constraint,
    DimDynamic,
    EqualityConstraint,
    RelaxedUnspecConstraint,
    StatefulSymbolicContext,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    SubclassSymbolicContext,
    SymbolicContext,
)
from tl_compiler.symbolic.errors import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
    PendingUnbackedSymbolNotFound,
)
from tl_compiler.symbolic.expression import (
    SWAPPED,
    Boolean,
    Expr,
    Integer,
    Relation,
    Sum,
    Symbol,
    sympify,
)
from tl_compiler.symbolic.guards import RuntimeAssert, ShapeGuard
from tl_compiler.symbolic.node import SymNode
from tl_compiler.symbolic.ranges import int_oo
from tl_compiler.symbolic.shape_env import ShapeEnv
from tl_compiler.symbolic.symbol_maker import ShapeEnvSettings
from tl_core.pytree import tree_leaves
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from .dim_constraints import DimConstraints
from .unbacked import (
    CallMethodKey,
    ConvertIntKey,
    DivideByKey,
    InnerTensorKey,
    PropagateUnbackedSymInts,
    compute_unbacked_bindings,
    is_accessor_node,
    rebind_unbacked,
    resolve_unbacked_bindings,
)

__all__ = [
    "CallMethodKey",
    "Constraint",
    "ConstraintViolationError",
    "ConvertIntKey",
    "DimConstraints",
    "DimDynamic",
    "DivideByKey",
    "EqualityConstraint",
    "GuardOnDataDependentSymNode",
    "InnerTensorKey",
    "PendingUnbackedSymbolNotFound",
    "PropagateUnbackedSymInts",
    "RelaxedUnspecConstraint",
    "RuntimeAssert",
    "ShapeEnv",
    "ShapeEnvSettings",
    "ShapeGuard",
    "StatefulSymbolicContext",
    "StatelessSymbolicContext",
    "StrictMinMaxConstraint",
    "SubclassSymbolicContext",
    "SymNode",
    "SymTypes",
    "SymbolicContext",
    "canonicalize_bool_expr",
    "check_consistent",
    "compute_unbacked_bindings",
    "constrain_range",
    "constrain_unify",
    "definitely_false",
    "definitely_true",
    "expect_true",
    "free_symbols",
    "free_unbacked_symbols",
    "fx_placeholder_targets",
    "fx_placeholder_vals",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "has_hint",
    "has_symbolic_sizes_strides",
    "hint_int",
    "is_accessor_node",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbol_binding_fx_node",
    "is_symbolic",
    "lru_cache",
    "parallel_and",
    "parallel_or",
    "rebind_unbacked",
    "resolve_unbacked_bindings",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]

SymTypes = (SymInt, SymFloat, SymBool)


# ---- plain values
def hint_int(a: Any, fallback: int | None = None) -> int:
    """The value of a size in the example.

    Args:
        a: the size.
        fallback: what stands for it where data decide it.

    Returns:
        The number.

    Example:
        >>> hint_int(3)
        3
    """
    return int(a.node.require_hint(fallback)) if isinstance(a, SymInt) else a


def has_hint(a: Any) -> bool:
    """Whether a number has a value in the example.

    Args:
        a: the number.

    Example:
        >>> has_hint(3)
        True
    """
    return a.node.has_hint() if isinstance(a, SymTypes) else True


def is_concrete_int(a: int | SymInt) -> bool:
    """Whether a size is known without a guard.

    Args:
        a: the size.

    Example:
        >>> is_concrete_int(3)
        True
    """
    return isinstance(a, int) or isinstance(a.node.expr, Integer)


def is_concrete_bool(a: bool | SymBool) -> bool:
    """Whether a condition is known without a guard.

    Args:
        a: the condition.

    Example:
        >>> is_concrete_bool(True)
        True
    """
    return isinstance(a, bool) or isinstance(a.node.expr, Boolean)


def is_concrete_float(a: float | SymFloat) -> bool:
    """Whether a float is known without a guard.

    Args:
        a: the float.

    Example:
        >>> is_concrete_float(1.0)
        True
    """
    return isinstance(a, float) or a.node.expr.is_number


def is_symbolic(val: Any) -> bool:
    """Whether a number isn't a plain one.

    Args:
        val: the number.

    Example:
        >>> is_symbolic(3)
        False
    """
    if isinstance(val, (bool, int, float)):
        return False
    return bool(val.node.is_symbolic())


# ---- symbols
def _expressions(val: Any) -> Iterable[Expr]:
    if isinstance(val, SymTypes):
        yield val.node.expr
    elif isinstance(val, Expr):
        yield val
    elif isinstance(val, tl_core.Tensor):
        for n in (*val.shape, *(val.stride() if val.layout == tl_core.strided else ())):
            yield from _expressions(n)
    elif isinstance(val, (list, tuple, dict)):
        for leaf in tree_leaves(val):
            if leaf is not val:
                yield from _expressions(leaf)


def free_symbols(val: Any) -> set[Symbol]:
    """The symbols in a number, an expression, the sizes of a tensor, or containers of them.

    Args:
        val: the value.

    Returns:
        The symbols.

    Example:
        >>> free_symbols(3)
        set()
    """
    if val is None:
        return set()
    return {s for e in _expressions(val) for s in e.free_symbols}


def free_unbacked_symbols(x: Any) -> set[Symbol]:
    """The symbols of a value that only data decide.

    Args:
        x: the value.

    Returns:
        The symbols.

    Example:
        >>> import tl_core
        >>> free_unbacked_symbols(tl_core.ones(2))
        set()
    """
    return {s for s in free_symbols(x) if s.name.startswith(("u", "zuf"))}


def has_free_symbols(val: Any) -> bool:
    """Whether a value has a symbol.

    Args:
        val: the value.

    Example:
        >>> has_free_symbols([1, 2])
        False
    """
    return bool(free_symbols(val))


def has_free_unbacked_symbols(x: Any) -> bool:
    """Whether a value has a symbol that only data decide.

    Args:
        x: the value.

    Example:
        >>> has_free_unbacked_symbols(1)
        False
    """
    return bool(free_unbacked_symbols(x))


def has_symbolic_sizes_strides(elem: Any) -> bool:
    """Whether a tensor has a size or stride that isn't a plain number.

    Args:
        elem: the tensor.

    Example:
        >>> import tl_core
        >>> has_symbolic_sizes_strides(tl_core.ones(2))
        False
    """
    return has_free_symbols(elem)


def is_symbol_binding_fx_node(node: Any) -> Symbol | None:
    """The symbol that an input of a graph is; None if it is none.

    Args:
        node: the node.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> is_symbol_binding_fx_node(next(iter(symbolic_trace(lambda x: x + 1).graph.nodes))) is None
        True
    """
    val = node.meta.get("val")
    if isinstance(val, SymInt) and isinstance(val.node.expr, Symbol) and node.op == "placeholder":
        return val.node.expr
    return None


def fx_placeholder_vals(gm: Any) -> list[Any]:
    """What is noted of the inputs of a graph module."""
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    """The names of the inputs of a graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> fx_placeholder_targets(symbolic_trace(lambda x, y: x + y))
        ['x', 'y']
    """
    return [str(n.target) for n in gm.graph.nodes if n.op == "placeholder"]


# ---- questions
def guard_bool(a: Any) -> bool:
    """Whether a condition holds in the example, which from now on is a guard.

    Example:
        >>> guard_bool(True)
        True
    """
    return bool(a.node.guard_bool("", 0)) if isinstance(a, SymBool) else bool(a)


def guard_int(a: Any) -> int:
    """The value of an int in the example, which from now on is a guard.

    Example:
        >>> guard_int(3)
        3
    """
    return int(a.node.guard_int("", 0)) if isinstance(a, SymInt) else int(a)


def guard_float(a: Any) -> float:
    """The value of a float in the example, which from now on is a guard.

    Example:
        >>> guard_float(0.5)
        0.5
    """
    return float(a.node.guard_float("", 0)) if isinstance(a, SymFloat) else float(a)


def guard_scalar(a: Any) -> Any:
    """The value of a number in the example, which from now on is a guard.

    Example:
        >>> guard_scalar(3)
        3
    """
    if isinstance(a, (SymBool, bool)):
        return guard_bool(a)
    return guard_int(a) if isinstance(a, (SymInt, int)) else guard_float(a)


def guard_size_oblivious(expr: bool | SymBool) -> bool:
    """Whether a condition holds, where sizes that data decide count as neither 0 nor 1.

    Args:
        expr: the condition.

    Returns:
        The answer.

    Example:
        >>> guard_size_oblivious(True)
        True
    """
    return bool(expr.node.guard_size_oblivious("", 0)) if isinstance(expr, SymBool) else bool(expr)


def expect_true(a: Any, skip: int = 0) -> bool:
    """Whether a condition holds; what only data decide is checked when the program runs.

    Args:
        a: the condition.
        skip: accepted.

    Example:
        >>> expect_true(3 > 2)
        True
    """
    return bool(a.node.expect_true("", 0)) if isinstance(a, SymBool) else bool(a)


def statically_known_true(x: bool | SymBool) -> bool:
    """Whether a condition holds for all sizes, by what is known of them; no guard is made.

    Args:
        x: the condition.

    Returns:
        False where it isn't known.

    Example:
        >>> statically_known_true(True)
        True
    """
    if not isinstance(x, SymBool):
        return bool(x)
    env, e = x.node.shape_env, x.node.expr
    return env._statically(env.simplify(e)) is True or env._statically(env.simplify(e)) == 1


def _or(a: Any, otherwise: bool) -> bool:
    if not isinstance(a, SymBool):
        return bool(a)
    env, e = a.node.shape_env, a.node._expr
    return bool(env.evaluate_expr(e, fallback_value=otherwise))


def definitely_true(a: bool | SymBool) -> bool:
    """Whether a condition holds; False where only data decide.

    Args:
        a: the condition.

    Example:
        >>> definitely_true(True)
        True
    """
    return _or(a, False)


guard_or_false = definitely_true


def definitely_false(a: bool | SymBool) -> bool:
    """Whether a condition does not hold; False where only data decide.

    Args:
        a: the condition.

    Example:
        >>> definitely_false(False)
        True
    """
    return not _or(a, True)


def guard_or_true(a: bool | SymBool) -> bool:
    """Whether a condition holds; True where only data decide.

    Args:
        a: the condition.

    Example:
        >>> guard_or_true(False)
        False
    """
    return _or(a, True)


def sym_and(*conditions: Any) -> Any:
    """Whether all conditions hold, as a condition; no guard is made.

    Args:
        conditions: the conditions.

    Example:
        >>> sym_and(True, False)
        False
    """
    return functools.reduce(lambda a, b: a & b, conditions) if conditions else True


def sym_or(*conditions: Any) -> Any:
    """Whether any condition holds, as a condition; no guard is made.

    Args:
        conditions: the conditions.

    Example:
        >>> sym_or(True, False)
        True
    """
    return functools.reduce(lambda a, b: a | b, conditions) if conditions else False


def parallel_or(*args: Any) -> bool:
    """Whether any condition holds, with as few guards as there can be.

    Args:
        args: the conditions.

    Example:
        >>> parallel_or(True, False)
        True
    """
    return True if any(statically_known_true(a) for a in args) else any(args)


def parallel_and(*args: Any) -> bool:
    """Whether all conditions hold, with as few guards as there can be.

    Args:
        args: the conditions.

    Example:
        >>> parallel_and(True, False)
        False
    """
    return (
        False
        if any(statically_known_true(tl_core.symbolic.arithmetic.sym_not(a)) for a in args)
        else all(args)
    )


def sym_eq(x: Any, y: Any) -> Any:
    """Whether numbers, or sequences of numbers, are equal, as a condition; no guard is made.

    Args:
        x, y: the numbers.

    Returns:
        A bool or symbolic bool.

    Raises:
        AssertionError: one is a number and the other a sequence.

    Example:
        >>> sym_eq((1, 2), (1, 2)), sym_eq(1, 2)
        (True, False)
    """
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and sym_and(*(sym_eq(a, b) for a, b in zip(x, y, strict=True)))
    if isinstance(x, (int, SymInt)) and isinstance(y, (int, SymInt)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


# ---- what is said of sizes
def constrain_range(a: Any, *, min: int | None, max: int | None = None) -> None:
    """Narrows the range of a size, without a guard.

    Args:
        a: the size.
        min, max: the least and the greatest value.

    Raises:
        ValueError: the range is empty, or a plain number is outside of it.

    Example:
        >>> constrain_range(3, min=2, max=5)
    """
    low, high = -int_oo if min is None else min, int_oo if max is None else max
    if high < low:
        raise ValueError("Maximum value to constrain_as_size can't be less than the specified min value")
    if isinstance(a, int):
        if not low <= a <= high:
            raise ValueError(f"Invalid value {a} for range [{min}:{max}]")
        return
    e = a.node.expr
    if isinstance(e, Integer):
        constrain_range(e.value, min=min, max=max)
        return
    if not isinstance(e, Symbol):
        raise AssertionError(f"constraining non-Symbols NYI, {e} is {type(e)}")
    a.node.shape_env.constrain_symbol_range(e, low, high)


def _constrain_range_for_size(a: Any, min: int | None = None, max: int | None = None) -> None:
    """Says that a number which data decide is a size.

    Args:
        a: the number.
        min, max: the least and the greatest value.
    """
    if isinstance(a, (SymFloat, SymBool)):
        raise ValueError("Constraining SymFloat/SymBool is nyi")
    constrain_range(a, min=0 if min is None else min, max=max)
    if isinstance(a, SymInt) and isinstance(a.node.expr, Symbol):
        a.node.shape_env.size_like.add(a.node.expr)


def constrain_unify(a: Any, b: Any) -> None:
    """Says that two sizes are equal, without a guard.

    Args:
        a, b: the sizes.

    Raises:
        AssertionError: plain numbers differ.

    Example:
        >>> constrain_unify(2, 2)
    """
    if not isinstance(a, SymInt) and not isinstance(b, SymInt):
        if a != b:
            raise AssertionError(f"{a} != {b}")
        return
    env = a.node.shape_env if isinstance(a, SymInt) else b.node.shape_env
    env.learn(relation("==", env.replace(sympify(a)), env.replace(sympify(b))))


def canonicalize_bool_expr(expr: Any) -> Any:
    """A comparison as `<` or `<=`, with what is no constant on the right.

    Args:
        expr: the comparison.

    Returns:
        The comparison.
    """
    if not isinstance(expr, Relation):
        return expr
    op, lhs, rhs = expr.rel_op, expr.lhs, expr.rhs
    if op in (">", ">="):
        op, lhs, rhs = SWAPPED[op], rhs, lhs
    d = expand(rhs - lhs)
    constant = d.constant if isinstance(d, Sum) else 0
    return Relation(op, Integer(-int(constant)), d - constant)


def check_consistent(new: Any, old: Any) -> None:
    """Raises unless two values are of the same sizes.

    Args:
        new, old: tensors or numbers.

    Raises:
        AssertionError: they aren't.

    Example:
        >>> import tl_core
        >>> check_consistent(tl_core.ones(2), tl_core.zeros(2))
    """
    if isinstance(new, tl_core.Tensor):
        if not isinstance(old, tl_core.Tensor) or len(old.shape) != len(new.shape):
            raise AssertionError(f"{tuple(old.shape)} != {tuple(new.shape)} (old != new)")
        for i, j in zip(old.shape, new.shape, strict=True):
            if not bool(i == j):
                raise AssertionError(f"{tuple(old.shape)} != {tuple(new.shape)} (old != new)")
    elif isinstance(new, (int, float)) and not isinstance(new, bool) and bool(new != old):
        raise AssertionError(f"{old} != {new} (old != new)")


def lru_cache(maxsize: int | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that keeps results, as that of functools.

    Args:
        maxsize: how many; None: all.

    Returns:
        The decorator.

    Example:
        >>> lru_cache(None)(abs)(-1)
        1
    """
    return functools.lru_cache(maxsize)

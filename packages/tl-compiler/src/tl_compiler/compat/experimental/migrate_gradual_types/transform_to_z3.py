"""Constraints as formulas of z3."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.tensor_type import Dyn, TensorType

from .constraint import BinConstraintD, BinConstraintT, BVar, Conj, Disj, DVar, F, Prod, T, TVar
from .constraint_generator import ConstraintGenerator
from .constraint_transformation import transform_constraint
from .operation import op_add, op_div, op_eq, op_gt, op_leq, op_lt, op_mod, op_mul, op_neq, op_sub

__all__ = ["iterate_till_fixed_point", "transform_all_constraints", "transform_to_z3"]


def _z3() -> Any:
    return import_module("z3")


def _types() -> Any:
    return import_module(f"{__package__}.z3_types")


def iterate_till_fixed_point(constraints: Any, counter: int) -> tuple[Any, int]:
    """Resolves constraints until nothing is left to resolve.

    Args:
        constraints: the constraints.
        counter: the last number of a variable.

    Returns:
        The constraints and the last number.
    """
    while True:
        resolved, counter = transform_constraint(constraints, counter)
        if resolved == constraints:
            return resolved, counter
        constraints = resolved


def transform_all_constraints(traced: GraphModule, counter: int = 0) -> Any:
    """What a graph asks of the types of its values, as a formula of z3.

    Args:
        traced: the module; annotations of its placeholders count.
        counter: the last number of a variable.

    Returns:
        The formula: it can be fulfilled if the types can be right.

    Example:
        >>> import tl_nn  # doctest: +SKIP
        >>> from tl_compiler.fx import symbolic_trace  # doctest: +SKIP
        >>> transform_all_constraints(symbolic_trace(tl_nn.Sequential(tl_nn.Linear(2, 3))))  # doctest: +SKIP
    """
    constraints, counter = ConstraintGenerator(traced).generate_constraints(counter)
    resolved, counter = iterate_till_fixed_point(constraints, counter)
    formula, _ = transform_to_z3(resolved, counter, {})
    return formula


def transform_to_z3(constraint: Any, counter: int, dimension_dict: dict[Any, Any]) -> tuple[Any, int]:
    """A resolved constraint as a formula of z3.

    Args:
        constraint: the constraint.
        counter: the last number of a variable.
        dimension_dict: is filled with the variables of z3 for sizes.

    Returns:
        The formula and the last number.

    Raises:
        NotImplementedError: the constraint isn't resolved.
    """
    z3 = _z3()
    if isinstance(constraint, (T, F)):
        return z3.BoolVal(isinstance(constraint, T)), counter
    if isinstance(constraint, Conj):
        return z3.And([transform_to_z3(c, counter, dimension_dict)[0] for c in constraint.conjucts]), counter
    if isinstance(constraint, Disj):
        return z3.Or([transform_to_z3(c, counter, dimension_dict)[0] for c in constraint.disjuncts]), counter
    if isinstance(constraint, BVar):
        return z3.Bool(f"bool_{constraint.c}"), counter
    if isinstance(constraint, BinConstraintT) and constraint.op == op_eq:
        return _type(constraint.lhs, dimension_dict) == _type(constraint.rhs, dimension_dict), counter
    if isinstance(constraint, BinConstraintD):
        return _comparison(constraint, dimension_dict), counter
    raise NotImplementedError(f"{constraint} isn't resolved")


def _type(t: Any, dims: dict[Any, Any]) -> Any:
    types = _types()
    if isinstance(t, TVar):
        return _z3().Const(t.tvar, types.tensor_type)
    if t == Dyn:
        return types.z3_dyn
    if isinstance(t, TensorType):
        constructor = getattr(types.tensor_type, f"tensor{len(t.__args__)}")
        return constructor(*(_size(d, dims) for d in t.__args__)) if t.__args__ else constructor
    raise NotImplementedError(f"{t} is no type")


def _size(d: Any, dims: dict[Any, Any]) -> Any:
    """A size as a value of z3: a variable, a known number, or an unknown one."""
    types = _types()
    if isinstance(d, DVar):
        if d not in dims:
            dims[d] = _z3().Const(f"size_{d.c}", types.dim)
        return dims[d]
    if d == Dyn:
        return types.D(0, 0)
    return types.D(1, _number(d, dims))


def _number(e: Any, dims: dict[Any, Any]) -> Any:
    """The number of a size or of an expression of sizes."""
    if isinstance(e, int):
        return _z3().IntVal(e)
    if isinstance(e, DVar):
        return _types().dim.value(_size(e, dims))
    if isinstance(e, Prod):
        return _z3().Product([_number(p, dims) for p in e.products])
    a, b = _number(e.lhs, dims), _number(e.rhs, dims)
    signs = {op_add: a + b, op_sub: a - b, op_mul: a * b, op_div: a / b, op_mod: a % b}
    return signs[e.op]


def _comparison(c: BinConstraintD, dims: dict[Any, Any]) -> Any:
    types, z3 = _types(), _z3()
    if c.op in (op_eq, op_neq):
        if c.rhs == Dyn:
            unknown = types.dim.known(_size(c.lhs, dims)) == 0
            return unknown if c.op == op_eq else z3.Not(unknown)
        both = all(isinstance(side, DVar) for side in (c.lhs, c.rhs))
        if both:
            same = _size(c.lhs, dims) == _size(c.rhs, dims)
        else:
            static = [types.dim.known(_size(s, dims)) == 1 for s in (c.lhs, c.rhs) if isinstance(s, DVar)]
            same = z3.And(*static, _number(c.lhs, dims) == _number(c.rhs, dims))
        return same if c.op == op_eq else z3.Not(same)
    if c.op == op_leq:
        # What isn't known is written as one value, so that equal types are equal.
        size = _size(c.rhs, dims)
        unknown = z3.And(types.dim.known(size) == 0, types.dim.value(size) == 0)
        return z3.Or(
            unknown, z3.And(types.dim.known(size) == 1, _number(c.lhs, dims) <= types.dim.value(size))
        )
    a, b = _number(c.lhs, dims), _number(c.rhs, dims)
    compared = {op_lt: a < b, op_gt: a > b}
    if c.op not in compared:
        raise NotImplementedError(f"{c} isn't resolved")
    return compared[c.op]

"""Constraints on types resolved into comparisons of sizes, by going through all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.fx.tensor_type import Dyn, TensorType

from ..rules import rule_decorator
from .constraint import (
    ApplyBroadcasting,
    BinConstraintD,
    BinConstraintT,
    CalcConv,
    CalcMaxPool,
    CalcProduct,
    CanReshape,
    Conj,
    DGreatestUpperBound,
    Disj,
    F,
    GetItem,
    GetItemTensor,
    IndexSelect,
    Prod,
    T,
    TGreatestUpperBound,
    Transpose,
)
from .constraint_generator import MAX_TENSOR_RANK
from .operation import (
    op_add,
    op_consistency,
    op_div,
    op_eq,
    op_leq,
    op_matching,
    op_mod,
    op_neq,
    op_precision,
)
from .util import gen_nat_constraints, gen_tensor_dims

__all__ = ["register_transformation_rule", "transform_constraint", "valid_index"]

Transformation = Callable[[Any, int], tuple[Any, int]]
_TRANSFORMATION_RULES: dict[type, Transformation] = {}


def register_transformation_rule(call_target: type) -> Callable[[Transformation], Transformation]:
    """Makes a decorator that registers how constraints of a class are resolved.

    Args:
        call_target: the class. The function takes a constraint and the last number of a variable, and returns another
            constraint and the last number.

    Returns:
        The decorator.
    """

    return rule_decorator(_TRANSFORMATION_RULES, call_target)


def valid_index(index: int, dims: list[Any]) -> Any:
    """Whether there is a size of a number.

    Args:
        index: the number.
        dims: the sizes.

    Returns:
        A constraint that always or never holds.
    """
    return T() if -len(dims) <= index < len(dims) else F()


def transform_constraint(constraint: Any, counter: int) -> tuple[Any, int]:
    """Resolves a constraint as far as one step goes.

    Args:
        constraint: the constraint.
        counter: the last number of a variable.

    Returns:
        The constraint and the last number.
    """
    rule = _TRANSFORMATION_RULES.get(type(constraint))
    return (constraint, counter) if rule is None else rule(constraint, counter)


def _all(parts: list[Any], counter: int) -> tuple[list[Any], int]:
    result = []
    for part in parts:
        new, counter = transform_constraint(part, counter)
        result.append(new)
    return result, counter


@register_transformation_rule(Conj)
def _conj(constraint: Conj, counter: int) -> tuple[Any, int]:
    parts, counter = _all(constraint.conjucts, counter)
    return Conj(parts), counter


@register_transformation_rule(Disj)
def _disj(constraint: Disj, counter: int) -> tuple[Any, int]:
    parts, counter = _all(constraint.disjuncts, counter)
    return Disj(parts), counter


def _is(variable: Any, dims: Any) -> BinConstraintT:
    return BinConstraintT(variable, dims if dims is Dyn else TensorType(list(dims)), op_eq)


def _known_or(sizes: list[Any], then: list[Any]) -> Disj:
    """Either some size isn't known, or all are and the rest holds."""
    unknown = [BinConstraintD(size, Dyn, op_eq) for size in sizes]
    static = [BinConstraintD(size, Dyn, op_neq) for size in sizes]
    return Disj([*unknown, Conj([*static, *then])])


@register_transformation_rule(BinConstraintT)
def _types(c: BinConstraintT, counter: int) -> tuple[Any, int]:
    if c.op == op_precision:
        if c.lhs == Dyn:
            return T(), counter
        dims, counter = gen_tensor_dims(len(c.lhs.__args__), counter)
        pairs = zip(c.lhs.__args__, dims, strict=True)
        exact = [BinConstraintD(d, size, op_eq) for size, d in pairs if size != Dyn]
        return Conj([_is(c.rhs, dims), *exact, *gen_nat_constraints(dims)]), counter
    if c.op == op_matching:
        dims = c.rhs.__args__
        unknown = Conj([_is(c.lhs, Dyn), *(BinConstraintD(d, Dyn, op_eq) for d in dims)])
        return Disj([unknown, _is(c.lhs, dims)]), counter
    if c.op == op_leq:
        cases: list[Any] = [_is(c.lhs, Dyn)]
        for rank in range(c.rhs + 1):
            dims, counter = gen_tensor_dims(rank, counter)
            cases.append(Conj([_is(c.lhs, dims), *gen_nat_constraints(dims)]))
        return Disj(cases), counter
    if c.op == op_consistency:
        cases = [_is(c.lhs, Dyn), _is(c.rhs, Dyn)]
        for rank in range(MAX_TENSOR_RANK + 1):
            first, counter = gen_tensor_dims(rank, counter)
            second, counter = gen_tensor_dims(rank, counter)
            same = [_consistent(a, b) for a, b in zip(first, second, strict=True)]
            cases.append(Conj([_is(c.lhs, first), _is(c.rhs, second), *same]))
        return Disj(cases), counter
    return c, counter


def _consistent(a: Any, b: Any) -> Disj:
    return Disj([BinConstraintD(a, Dyn, op_eq), BinConstraintD(b, Dyn, op_eq), BinConstraintD(a, b, op_eq)])


@register_transformation_rule(BinConstraintD)
def _sizes(c: BinConstraintD, counter: int) -> tuple[Any, int]:
    if c.op == op_consistency:
        return _consistent(c.lhs, c.rhs), counter
    if c.op == op_precision:
        return (T() if c.lhs == Dyn else BinConstraintD(c.lhs, c.rhs, op_eq)), counter
    return c, counter


@register_transformation_rule(DGreatestUpperBound)
def _size_bound(c: DGreatestUpperBound, counter: int) -> tuple[Any, int]:
    return _bound_of_sizes(c.res, c.rhs1, c.rhs2), counter


def _bound_of_sizes(res: Any, a: Any, b: Any) -> Disj:
    return Disj(
        [
            Conj([BinConstraintD(a, Dyn, op_eq), BinConstraintD(res, b, op_eq)]),
            Conj([BinConstraintD(b, Dyn, op_eq), BinConstraintD(res, a, op_eq)]),
            Conj([BinConstraintD(a, b, op_eq), BinConstraintD(res, a, op_eq)]),
        ]
    )


@register_transformation_rule(TGreatestUpperBound)
def _type_bound(c: TGreatestUpperBound, counter: int) -> tuple[Any, int]:
    cases: list[Any] = [
        Conj([_is(c.rhs1, Dyn), BinConstraintT(c.res, c.rhs2, op_eq)]),
        Conj([_is(c.rhs2, Dyn), BinConstraintT(c.res, c.rhs1, op_eq)]),
    ]
    for rank in range(MAX_TENSOR_RANK + 1):
        output, counter = gen_tensor_dims(rank, counter)
        first, counter = gen_tensor_dims(rank, counter)
        second, counter = gen_tensor_dims(rank, counter)
        bounds = [_bound_of_sizes(*sizes) for sizes in zip(output, first, second, strict=True)]
        types = [_is(c.res, output), _is(c.rhs1, first), _is(c.rhs2, second)]
        cases.append(Conj([*types, *bounds, *gen_nat_constraints([*output, *first, *second])]))
    return Disj(cases), counter


@register_transformation_rule(CanReshape)
def _can_reshape(c: CanReshape, counter: int) -> tuple[Any, int]:
    static = [size for size in c.target.__args__ if size != Dyn]
    total = 1
    for size in static:
        total *= size
    cases: list[Any] = [_is(c.src, Dyn)]
    for rank in range(MAX_TENSOR_RANK + 1):
        dims, counter = gen_tensor_dims(rank, counter)
        product: Any = Prod(dims) if dims else 1
        if len(static) == len(c.target.__args__):
            fits = BinConstraintD(product, total, op_eq)
        else:
            fits = BinConstraintD(BinConstraintD(product, max(total, 1), op_mod), 0, op_eq)
        cases.append(Conj([_is(c.src, dims), _known_or(dims, [fits]), *gen_nat_constraints(dims)]))
    return Disj(cases), counter


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _window(size: Any, output: Any, c: Any, index: int) -> Disj:
    """The size that a convolution or pool makes of another one; unknown for unknown."""
    kernel, padding, stride, dilation = (_pair(v)[index] for v in (c.kernel, c.padding, c.stride, c.dilation))
    grown = BinConstraintD(size, 2 * padding - dilation * (kernel - 1) - 1, op_add)
    value = BinConstraintD(BinConstraintD(grown, stride, op_div), 1, op_add)
    return Disj(
        [
            Conj([BinConstraintD(size, Dyn, op_eq), BinConstraintD(output, Dyn, op_eq)]),
            Conj([BinConstraintD(size, Dyn, op_neq), BinConstraintD(output, value, op_eq)]),
        ]
    )


@register_transformation_rule(CalcConv)
def _calc_conv(c: CalcConv, counter: int) -> tuple[Any, int]:
    output, counter = gen_tensor_dims(4, counter)
    source = c.matching_constraint_vars
    windows = [_window(source[2 + i], output[2 + i], c, i) for i in range(2)]
    fixed = [BinConstraintD(output[0], source[0], op_eq), BinConstraintD(output[1], c.c_out, op_eq)]
    return Conj([_is(c.conv_result, output), *fixed, *windows, *gen_nat_constraints(output)]), counter


@register_transformation_rule(CalcMaxPool)
def _calc_pool(c: CalcMaxPool, counter: int) -> tuple[Any, int]:
    output, counter = gen_tensor_dims(4, counter)
    source = c.matching_constraint_vars
    windows = [_window(source[2 + i], output[2 + i], c, i) for i in range(2)]
    fixed = [BinConstraintD(output[i], source[i], op_eq) for i in range(2)]
    return Conj([_is(c.maxpool_result, output), *fixed, *windows, *gen_nat_constraints(output)]), counter


@register_transformation_rule(CalcProduct)
def _calc_product(c: CalcProduct, counter: int) -> tuple[Any, int]:
    before, joined, after = (
        c.dims_to_flatten[: c.start],
        c.dims_to_flatten[c.start : c.end],
        c.dims_to_flatten[c.end :],
    )
    (product_size,), counter = gen_tensor_dims(1, counter)
    unknown = [
        Conj([BinConstraintD(d, Dyn, op_eq), BinConstraintD(product_size, Dyn, op_eq)]) for d in joined
    ]
    static = [BinConstraintD(d, Dyn, op_neq) for d in joined]
    product = Conj([*static, BinConstraintD(product_size, Prod(joined), op_eq)])
    return Conj([_is(c.flattened, [*before, product_size, *after]), Disj([*unknown, product])]), counter


@register_transformation_rule(ApplyBroadcasting)
def _broadcasting(c: ApplyBroadcasting, counter: int) -> tuple[Any, int]:
    unchanged = [BinConstraintT(c.res1, c.input1, op_eq), BinConstraintT(c.res2, c.input2, op_eq)]
    cases: list[Any] = [Conj([_is(c.input1, Dyn), *unchanged]), Conj([_is(c.input2, Dyn), *unchanged])]
    for one in range(MAX_TENSOR_RANK + 1):
        for other in range(MAX_TENSOR_RANK + 1):
            rank = max(one, other)
            first, counter = gen_tensor_dims(one, counter)
            second, counter = gen_tensor_dims(other, counter)
            new1, counter = gen_tensor_dims(rank, counter)
            new2, counter = gen_tensor_dims(rank, counter)
            types = [_is(c.input1, first), _is(c.input2, second), _is(c.res1, new1), _is(c.res2, new2)]
            aligned = zip(
                [*[1] * (rank - one), *first], [*[1] * (rank - other), *second], new1, new2, strict=True
            )
            sizes = [_align(*four) for four in aligned]
            cases.append(Conj([*types, *sizes, *gen_nat_constraints([*new1, *new2])]))
    return Disj(cases), counter


def _align(a: Any, b: Any, new_a: Any, new_b: Any) -> Disj:
    """Sizes of 1 become the other one; others stay."""

    def becomes(x: Any, y: Any) -> list[Any]:
        return [BinConstraintD(new_a, x, op_eq), BinConstraintD(new_b, y, op_eq)]

    return Disj(
        [
            Conj([BinConstraintD(a, 1, op_eq), *becomes(b, b)]),
            Conj([BinConstraintD(b, 1, op_eq), *becomes(a, a)]),
            Conj([BinConstraintD(a, 1, op_neq), BinConstraintD(b, 1, op_neq), *becomes(a, b)]),
        ]
    )


@register_transformation_rule(Transpose)
def _transpose(c: Transpose, counter: int) -> tuple[Any, int]:
    dims, counter = gen_tensor_dims(c.tensor_size, counter)
    output = list(dims)
    output[c.index1], output[c.index2] = output[c.index2], output[c.index1]
    valid = [valid_index(i, dims) for i in (c.index1, c.index2)]
    return Conj([_is(c.input_var, dims), _is(c.output, output), *valid, *gen_nat_constraints(dims)]), counter


@register_transformation_rule(IndexSelect)
def _index_select(c: IndexSelect, counter: int) -> tuple[Any, int]:
    dims, counter = gen_tensor_dims(c.tensor_size, counter)
    if isinstance(valid_index(c.index, dims), F):
        return F(), counter
    output = list(dims)
    output[c.index] = c.dim_replace
    return Conj([_is(c.input_var, dims), _is(c.output, output), *gen_nat_constraints(dims)]), counter


@register_transformation_rule(GetItem)
def _get_item(c: GetItem, counter: int) -> tuple[Any, int]:
    dims, counter = gen_tensor_dims(c.tensor_size, counter)
    if isinstance(valid_index(c.index, dims), F):
        return F(), counter
    same = BinConstraintD(c.res, dims[c.index], op_eq)
    return Conj([_is(c.input_var, dims), same, *gen_nat_constraints(dims)]), counter


@register_transformation_rule(GetItemTensor)
def _get_item_tensor(c: GetItemTensor, counter: int) -> tuple[Any, int]:
    dims, counter = gen_tensor_dims(c.tensor_size, counter)
    output: list[Any] = []
    rest = list(dims)
    for index in c.index_tuple:
        if index is None:
            output.append(1)
        elif index == slice(None) and rest:
            output.append(rest.pop(0))
        else:
            return F(), counter
    return Conj([_is(c.input_var, dims), _is(c.res, output + rest), *gen_nat_constraints(dims)]), counter

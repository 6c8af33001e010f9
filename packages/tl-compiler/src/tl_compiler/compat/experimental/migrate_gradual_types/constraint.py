"""Constraints on types and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tl_compiler.fx.tensor_type import TensorType

from .operation import op_add, op_div, op_eq, op_gt, op_lt, op_mod, op_mul, op_neq, op_sub

__all__ = [
    "ApplyBroadcasting",
    "BVar",
    "BinConstraintD",
    "BinConstraintT",
    "BinaryConstraint",
    "CalcConv",
    "CalcMaxPool",
    "CalcProduct",
    "CanReshape",
    "Conj",
    "Constraint",
    "DGreatestUpperBound",
    "DVar",
    "Disj",
    "F",
    "GetItem",
    "GetItemTensor",
    "IndexSelect",
    "Prod",
    "T",
    "TGreatestUpperBound",
    "TVar",
    "Transpose",
    "is_algebraic_expression",
    "is_bool_expr",
    "is_dim",
]


class _Parts:
    """What is made of parts; two are equal if they are of one class and made of the same.

    The classes of data below take comparison and text from here.
    """

    def _parts(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, str(self._parts())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._parts()))})"


class Constraint(_Parts):
    """A constraint; two are equal if they are of one class and made of the same.

    Example:
        >>> isinstance(T(), Constraint)
        True
    """


@dataclass(eq=False, repr=False)
class TVar(_Parts):
    """A variable for a type.

    Args:
        tvar: its number.

    Example:
        >>> TVar(1)
        TV(1)
    """

    tvar: int

    def __repr__(self) -> str:
        return f"TV({self.tvar})"


@dataclass(eq=False, repr=False)
class DVar(_Parts):
    """A variable for a size.

    Args:
        c: its number.

    Example:
        >>> DVar(1) == DVar(1), DVar(1) == DVar(2)
        (True, False)
    """

    c: int

    def __repr__(self) -> str:
        return f"DV({self.c})"


@dataclass(eq=False, repr=False)
class BVar(_Parts):
    """A variable for a truth.

    Args:
        c: its number.

    Example:
        >>> BVar(1)
        BV(1)
    """

    c: int

    def __repr__(self) -> str:
        return f"BV({self.c})"


class Conj(Constraint):
    """All of several constraints.

    Args:
        conjuncts: they.

    Example:
        >>> Conj([T(), F()])
        Conj([T(), F()])
    """

    def __init__(self, conjuncts: Iterable[Any]) -> None:
        self.conjucts = list(conjuncts)  # as the reference spells it


class Disj(Constraint):
    """One of several constraints.

    Args:
        disjuncts: they.

    Example:
        >>> Disj([T(), F()])
        Disj([T(), F()])
    """

    def __init__(self, disjuncts: Iterable[Any]) -> None:
        self.disjuncts = list(disjuncts)


class Prod(Constraint):
    """The product of sizes.

    Args:
        products: the sizes.

    Example:
        >>> Prod([DVar(1), DVar(2)]).products
        [DV(1), DV(2)]
    """

    def __init__(self, products: Iterable[Any]) -> None:
        self.products = list(products)


class T(Constraint):
    """The constraint that always holds.

    Example:
        >>> T() == T()
        True
    """


class F(Constraint):
    """The constraint that never holds.

    Example:
        >>> F() == F()
        True
    """


@dataclass(eq=False, repr=False)
class BinaryConstraint(Constraint):
    """Two sides with a sign between them.

    Args:
        lhs, rhs: the sides.
        op: the sign.

    Example:
        >>> BinaryConstraint(DVar(1), DVar(2), "=").op
        '='
    """

    lhs: Any
    rhs: Any
    op: str

    def __repr__(self) -> str:
        return f"({self.lhs} {self.op} {self.rhs})"


class BinConstraintT(BinaryConstraint):
    """Two types with a sign between them; a number on the right says a rank.

    Args:
        lhs: the left side.
        rhs: the right side.
        op: the sign.

    Example:
        >>> BinConstraintT(TVar(1), TVar(2), "=")
        (TV(1) = TV(2))
    """

    def __init__(self, lhs: Any, rhs: Any, op: str) -> None:
        for side in (lhs, rhs):
            if not (isinstance(side, (TVar, TensorType, int)) or repr(side) == "Dyn"):
                raise AssertionError(f"BinConstraintT: {side} is no type")
        super().__init__(lhs, rhs, op)


class BinConstraintD(BinaryConstraint):
    """Two sizes, or expressions of sizes, with a sign between them.

    Args:
        lhs: the left side.
        rhs: the right side.
        op: the sign.

    Example:
        >>> BinConstraintD(DVar(1), 3, "=")
        (DV(1) = 3)
    """


@dataclass(eq=False, repr=False)
class TGreatestUpperBound(Constraint):
    """A type is what two others say together.

    Args:
        res: the type.
        rhs1, rhs2: the others.

    Example:
        >>> TGreatestUpperBound(TVar(1), TVar(2), TVar(3)).res
        TV(1)
    """

    res: TVar
    rhs1: Any
    rhs2: Any


@dataclass(eq=False, repr=False)
class DGreatestUpperBound(Constraint):
    """A size is what two others say together.

    Args:
        res: the size.
        rhs1, rhs2: the others.

    Example:
        >>> DGreatestUpperBound(DVar(1), DVar(2), DVar(3)).res
        DV(1)
    """

    res: Any
    rhs1: Any
    rhs2: Any


@dataclass(eq=False, repr=False)
class CanReshape(Constraint):
    """A tensor can be reshaped.

    Args:
        src: its type.
        target: the type that it is to have.

    Example:
        >>> CanReshape(TVar(1), TVar(2)).target
        TV(2)
    """

    src: Any
    target: TensorType


@dataclass(eq=False, repr=False)
class IndexSelect(Constraint):
    """A type is another one with one size replaced.

    Args:
        tensor_size: its rank.
        input_var: the other type.
        dim_replace: the new size.
        index: which one.
        output: the type.

    Example:
        >>> IndexSelect(2, TVar(1), DVar(1), 0, TVar(2)).index
        0
    """

    tensor_size: int
    input_var: TVar
    dim_replace: Any
    index: int
    output: TVar


@dataclass(eq=False, repr=False)
class Transpose(Constraint):
    """A type is another one with two sizes exchanged.

    Args:
        tensor_size: its rank.
        input_var: the other type.
        index1, index2: which ones.
        output: the type.

    Example:
        >>> Transpose(2, TVar(1), 0, 1, TVar(2)).index2
        1
    """

    tensor_size: int
    input_var: TVar
    index1: int
    index2: int
    output: TVar


@dataclass(eq=False, repr=False)
class GetItem(Constraint):
    """A size is one of a type's.

    Args:
        tensor_size: the type's rank.
        index: which one.
        res: the size.
        input_var: the type.

    Example:
        >>> GetItem(2, 0, DVar(1), TVar(1)).index
        0
    """

    tensor_size: int
    index: int
    res: DVar
    input_var: TVar


@dataclass(eq=False, repr=False)
class GetItemTensor(Constraint):
    """A type is that of a tensor that is indexed by slices and None.

    Args:
        tensor_size: the rank of the tensor that is indexed.
        index_tuple: the indices.
        res: the type.
        input_var: the type of the tensor.

    Example:
        >>> GetItemTensor(2, (0, None), TVar(1), TVar(2)).index_tuple
        (0, None)
    """

    tensor_size: int
    index_tuple: tuple[Any, ...]
    res: TVar
    input_var: TVar


@dataclass(eq=False, repr=False)
class CalcConv(Constraint):
    """A type is that of a convolution's result.

    Args:
        conv_result: the type.
        input_var: the type of its input.
        c_out: the number of its channels.
        kernel, padding, stride, dilation: as for the convolution.
        matching_constraint_vars: the sizes of its input.
    """

    conv_result: TVar
    input_var: TVar
    c_out: int
    kernel: Any
    padding: Any
    stride: Any
    dilation: Any
    matching_constraint_vars: list[DVar]


@dataclass(eq=False, repr=False)
class CalcMaxPool(Constraint):
    """A type is that of a pool's result.

    Args:
        maxpool_result: the type.
        input_var: the type of its input.
        kernel, padding, stride, dilation: as for the pool.
        matching_constraint_vars: the sizes of its input.
    """

    maxpool_result: TVar
    input_var: TVar
    kernel: Any
    padding: Any
    stride: Any
    dilation: Any
    matching_constraint_vars: list[DVar]


@dataclass(eq=False, repr=False)
class CalcProduct(Constraint):
    """A type is that of a flattened tensor.

    Args:
        start, end: the dimensions that are joined, without the last.
        flattened: the type.
        dims_to_flatten: the sizes of the tensor.

    Example:
        >>> CalcProduct(1, 2, TVar(1), [DVar(1), DVar(2)]).start
        1
    """

    start: int
    end: int
    flattened: TVar
    dims_to_flatten: list[DVar]


@dataclass(eq=False, repr=False)
class ApplyBroadcasting(Constraint):
    """Two types are what others become by broadcasting.

    Args:
        res1, res2: the types.
        input1, input2: the others.

    Example:
        >>> ApplyBroadcasting(TVar(1), TVar(2), TVar(3), TVar(4)).res1
        TV(1)
    """

    res1: TVar
    res2: TVar
    input1: TVar
    input2: TVar


def is_algebraic_expression(constraint: Any) -> bool:
    """Whether something is an expression of sizes.

    Args:
        constraint: it.

    Returns:
        True for sums, products and so on.

    Example:
        >>> is_algebraic_expression(BinConstraintD(DVar(1), 2, "*"))
        True
    """
    if isinstance(constraint, BinConstraintD):
        return constraint.op in (op_add, op_sub, op_div, op_mul, op_mod)
    return isinstance(constraint, Prod)


def is_bool_expr(constraint: Any) -> bool:
    """Whether something is true or false.

    Args:
        constraint: it.

    Returns:
        True for comparisons, variables of truth, and what is made of them.

    Example:
        >>> is_bool_expr(BVar(1))
        True
    """
    if isinstance(constraint, BinConstraintD):
        return constraint.op in (op_gt, op_lt, op_neq, op_eq)
    return isinstance(constraint, (BVar, Conj, Disj))


def is_dim(d: Any) -> bool:
    """Whether something is a size.

    Args:
        d: it.

    Returns:
        True for variables of sizes, numbers and `Dyn`.

    Example:
        >>> is_dim(DVar(1)), is_dim(TVar(1))
        (True, False)
    """
    return isinstance(d, (DVar, int)) or repr(d) == "Dyn"

"""Constraints on types and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...tensor_type import TensorType
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


class Constraint:
    """A constraint; two are equal if they are of one class and made of the same."""

    def _parts(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, str(self._parts())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._parts()))})"


class _Variable:
    """A variable by its number; subclasses say of what."""

    _letter = "V"

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"{self._letter}({self.number})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.number == other.number

    def __hash__(self) -> int:
        return hash((self._letter, self.number))


class TVar(_Variable):
    """A variable for a type.

    Args:
        tvar: its number.
    """

    _letter = "TV"

    def __init__(self, tvar: int) -> None:
        super().__init__(tvar)
        self.tvar = tvar


class DVar(_Variable):
    """A variable for a size.

    Args:
        c: its number.
    """

    _letter = "DV"

    def __init__(self, c: int) -> None:
        super().__init__(c)
        self.c = c


class BVar(_Variable):
    """A variable for a truth.

    Args:
        c: its number.
    """

    _letter = "BV"

    def __init__(self, c: int) -> None:
        super().__init__(c)
        self.c = c


class Conj(Constraint):
    """All of several constraints.

    Args:
        conjuncts: they.
    """

    def __init__(self, conjuncts: Iterable[Any]) -> None:
        self.conjucts = list(conjuncts)


class Disj(Constraint):
    """One of several constraints.

    Args:
        disjuncts: they.
    """

    def __init__(self, disjuncts: Iterable[Any]) -> None:
        self.disjuncts = list(disjuncts)


class Prod(Constraint):
    """The product of sizes.

    Args:
        products: the sizes.
    """

    def __init__(self, products: Iterable[Any]) -> None:
        self.products = list(products)


class T(Constraint):
    """What always holds."""


class F(Constraint):
    """What never holds."""


class BinaryConstraint(Constraint):
    """Two sides with a sign between them.

    Args:
        lhs, rhs: the sides.
        op: the sign.
    """

    def __init__(self, lhs: Any, rhs: Any, op: str) -> None:
        self.lhs = lhs
        self.rhs = rhs
        self.op = op

    def __repr__(self) -> str:
        return f"({self.lhs} {self.op} {self.rhs})"


class BinConstraintT(BinaryConstraint):
    """Two types with a sign between them; a number on the right says a rank."""

    def __init__(self, lhs: Any, rhs: Any, op: str) -> None:
        sides = (TVar, TensorType, int)
        if not (isinstance(lhs, sides) or repr(lhs) == "Dyn"):
            raise AssertionError(f"BinConstraintT: {lhs} is no type")
        if not (isinstance(rhs, sides) or repr(rhs) == "Dyn"):
            raise AssertionError(f"BinConstraintT: {rhs} is no type")
        super().__init__(lhs, rhs, op)


class BinConstraintD(BinaryConstraint):
    """Two sizes, or expressions of sizes, with a sign between them."""


class TGreatestUpperBound(Constraint):
    """A type is what two others say together.

    Args:
        res: the type.
        rhs1, rhs2: the others.
    """

    def __init__(self, res: TVar, rhs1: Any, rhs2: Any) -> None:
        self.res = res
        self.rhs1 = rhs1
        self.rhs2 = rhs2


class DGreatestUpperBound(Constraint):
    """A size is what two others say together.

    Args:
        res: the size.
        rhs1, rhs2: the others.
    """

    def __init__(self, res: Any, rhs1: Any, rhs2: Any) -> None:
        self.res = res
        self.rhs1 = rhs1
        self.rhs2 = rhs2


class CanReshape(Constraint):
    """A tensor can be reshaped.

    Args:
        src: its type.
        target: the type that it is to have.
    """

    def __init__(self, src: Any, target: TensorType) -> None:
        self.src = src
        self.target = target


class IndexSelect(Constraint):
    """A type is another one with one size replaced.

    Args:
        tensor_size: its rank.
        input_var: the other type.
        dim_replace: the new size.
        index: which one.
        output: the type.
    """

    def __init__(self, tensor_size: int, input_var: TVar, dim_replace: Any, index: int, output: TVar) -> None:
        self.tensor_size = tensor_size
        self.input_var = input_var
        self.dim_replace = dim_replace
        self.index = index
        self.output = output


class Transpose(Constraint):
    """A type is another one with two sizes exchanged.

    Args:
        tensor_size: its rank.
        input_var: the other type.
        index1, index2: which ones.
        output: the type.
    """

    def __init__(self, tensor_size: int, input_var: TVar, index1: int, index2: int, output: TVar) -> None:
        self.tensor_size = tensor_size
        self.input_var = input_var
        self.index1 = index1
        self.index2 = index2
        self.output = output


class GetItem(Constraint):
    """A size is one of a type's.

    Args:
        tensor_size: the type's rank.
        index: which one.
        res: the size.
        input_var: the type.
    """

    def __init__(self, tensor_size: int, index: int, res: DVar, input_var: TVar) -> None:
        self.tensor_size = tensor_size
        self.index = index
        self.res = res
        self.input_var = input_var


class GetItemTensor(Constraint):
    """A type is that of a tensor that is indexed by slices and None.

    Args:
        tensor_size: the rank of the tensor that is indexed.
        index_tuple: the indices.
        res: the type.
        input_var: the type of the tensor.
    """

    def __init__(self, tensor_size: int, index_tuple: tuple[Any, ...], res: TVar, input_var: TVar) -> None:
        self.tensor_size = tensor_size
        self.index_tuple = index_tuple
        self.res = res
        self.input_var = input_var


class CalcConv(Constraint):
    """A type is that of a convolution's result.

    Args:
        conv_result: the type.
        input_var: the type of its input.
        c_out: the number of its channels.
        kernel, padding, stride, dilation: as for the convolution.
        matching_constraint_vars: the sizes of its input.
    """

    def __init__(
        self,
        conv_result: TVar,
        input_var: TVar,
        c_out: int,
        kernel: Any,
        padding: Any,
        stride: Any,
        dilation: Any,
        matching_constraint_vars: list[DVar],
    ) -> None:
        self.conv_result = conv_result
        self.input_var = input_var
        self.c_out = c_out
        self.kernel = kernel
        self.padding = padding
        self.stride = stride
        self.dilation = dilation
        self.matching_constraint = matching_constraint_vars


class CalcMaxPool(Constraint):
    """A type is that of a pool's result.

    Args:
        maxpool_result: the type.
        input_var: the type of its input.
        kernel, padding, stride, dilation: as for the pool.
        matching_constraint_vars: the sizes of its input.
    """

    def __init__(
        self,
        maxpool_result: TVar,
        input_var: TVar,
        kernel: Any,
        padding: Any,
        stride: Any,
        dilation: Any,
        matching_constraint_vars: list[DVar],
    ) -> None:
        self.maxpool_result = maxpool_result
        self.input_var = input_var
        self.kernel = kernel
        self.padding = padding
        self.stride = stride
        self.dilation = dilation
        self.matching_constraint = matching_constraint_vars


class CalcProduct(Constraint):
    """A type is that of a flattened tensor.

    Args:
        start, end: the dimensions that are joined, without the last.
        flattened: the type.
        dims_to_flatten: the sizes of the tensor.
    """

    def __init__(self, start: int, end: int, flattened: TVar, dims_to_flatten: list[DVar]) -> None:
        self.start = start
        self.end = end
        self.dims_to_flatten = dims_to_flatten
        self.flattened = flattened


class ApplyBroadcasting(Constraint):
    """Two types are what others become by broadcasting.

    Args:
        res1, res2: the types.
        input1, input2: the others.
    """

    def __init__(self, res1: TVar, res2: TVar, input1: TVar, input2: TVar) -> None:
        self.res1 = res1
        self.res2 = res2
        self.input1 = input1
        self.input2 = input2


def is_algebraic_expression(constraint: Any) -> bool:
    """Whether something is an expression of sizes.

    Args:
        constraint: it.

    Returns:
        True for sums, products and so on.
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
    """
    return isinstance(d, (DVar, int)) or repr(d) == "Dyn"

"""New variables, numbered one after the other."""

from __future__ import annotations

from .constraint import BinConstraintD, BVar, DVar, TVar
from .operation import op_leq

__all__ = ["gen_bvar", "gen_dvar", "gen_nat_constraints", "gen_tensor_dims", "gen_tvar"]


def gen_tvar(curr: int) -> tuple[TVar, int]:
    """A new variable for a type.

    Args:
        curr: the last number.

    Returns:
        The variable and its number.

    Example:
        >>> gen_tvar(4)
        (TV(5), 5)
    """
    return TVar(curr + 1), curr + 1


def gen_dvar(curr: int) -> tuple[DVar, int]:
    """A new variable for a size.

    Args:
        curr: the last number.

    Returns:
        The variable and its number.

    Example:
        >>> gen_dvar(4)
        (DV(5), 5)
    """
    return DVar(curr + 1), curr + 1


def gen_bvar(curr: int) -> tuple[BVar, int]:
    """A new variable for a truth.

    Args:
        curr: the last number.

    Returns:
        The variable and its number.

    Example:
        >>> gen_bvar(4)
        (BV(5), 5)
    """
    return BVar(curr + 1), curr + 1


def gen_tensor_dims(n: int, curr: int) -> tuple[list[DVar], int]:
    """New variables for the sizes of a tensor.

    Args:
        n: how many.
        curr: the last number.

    Returns:
        The variables and the last of their numbers.

    Example:
        >>> gen_tensor_dims(2, 0)
        ([DV(1), DV(2)], 2)
    """
    return [DVar(curr + i + 1) for i in range(n)], curr + n


def gen_nat_constraints(list_of_dims: list[DVar]) -> list[BinConstraintD]:
    """Constraints that sizes aren't negative.

    Args:
        list_of_dims: the sizes.

    Returns:
        The constraints.

    Example:
        >>> from tl_compiler.compat.experimental.migrate_gradual_types.constraint import DVar
        >>> len(gen_nat_constraints([DVar(1), DVar(2)]))
        2
    """
    return [BinConstraintD(0, d, op_leq) for d in list_of_dims]

"""A call of an operator as rules see it: arguments by name, operands and results without elements, and their cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tl_core
from tl_core import Tensor

from .placement_types import Placement

__all__ = ["Operand", "OperatorCall", "Strategy", "argument_names", "call_by_name", "operator_named"]


class Operand(NamedTuple):
    """A tensor among the arguments: the name of its argument, and the tensor without elements."""

    name: str
    meta: Tensor


class Strategy(NamedTuple):
    """Placements on one mesh dimension.

    Args:
        operands: the placement of each operand.
        results: the placement of each result.
        local: takes the arguments of a rank's own call, the number of ranks, and the rank. It changes arguments that
            say sizes, or returns the result in place of the operator.
        is_preferred: whether the strategy comes before others that move as much.
        is_exclusive: whether the strategy is right on one mesh dimension only.
    """

    operands: tuple[Placement, ...]
    results: tuple[Placement, ...]
    local: Callable[[dict[str, Any], int, int], Any] | None = None
    is_preferred: bool = False
    is_exclusive: bool = False


class OperatorCall:
    """A call of an operator.

    Args:
        func: the operator.
        arguments: its arguments by name, with tensors without elements, and the defaults of those that are left out.
        results: what it returns for these, flat.
        cuts: takes the number of an operand and a dimension; returns into how many pieces it is cut.
        ranks: the number of ranks of the mesh.
    """

    def __init__(
        self,
        func: Any,
        arguments: dict[str, Any],
        results: Sequence[Tensor],
        cuts: Callable[[int, int], int],
        ranks: int,
    ):
        self.func, self.arguments, self.results, self.cuts, self.ranks = func, arguments, results, cuts, ranks
        schema = func._schema
        self.name: str = schema.name.partition("::")[2]
        self.overload: str = f"{self.name}.{schema.overload_name}" if schema.overload_name else self.name
        self.is_mutable: bool = schema.is_mutable
        self.operands = [Operand(name, meta) for name, value in arguments.items() for meta in _tensors(value)]

    @property
    def metas(self) -> list[Tensor]:
        """The operands without elements."""
        return [operand.meta for operand in self.operands]

    def of(self, name: str) -> list[int]:
        """The numbers of the operands of an argument.

        Args:
            name: the argument.
        """
        return [i for i, operand in enumerate(self.operands) if operand.name == name]


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [v for v in value if isinstance(v, Tensor)] if isinstance(value, (list, tuple)) else []


def argument_names(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, in the order of the schema; those that are left out have their default.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    named = {}
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args) and not argument.kwarg_only:
            named[argument.name] = args[position]
        else:
            named[argument.name] = kwargs.get(argument.name, argument.default_value)
    return named


def call_by_name(func: Any, named: dict[str, Any]) -> Any:
    """Calls an operator.

    Args:
        func: the operator.
        named: its arguments by name.
    """
    arguments = func._schema.arguments
    args = [named[a.name] for a in arguments if not a.kwarg_only]
    return func(*args, **{a.name: named[a.name] for a in arguments if a.kwarg_only})


def operator_named(name: str) -> Any:
    """The operator of a name.

    Args:
        name: the name with its overload, such as "add.Tensor".
    """
    base, _, overload = name.partition(".")
    packets: Any = tl_core.ops
    return getattr(getattr(packets.aten, base), overload or "default")

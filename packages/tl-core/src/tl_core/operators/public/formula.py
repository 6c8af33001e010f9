"""Formulas: what only this library computes by one operator, by the operators that others know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tl_core.base.rule_table import RuleTable
from tl_core.operators.packets import aten

__all__ = ["FORMULAS", "Recording", "formula", "named", "target_of", "value_of", "viewed"]


class Recording(Protocol):
    """What a formula calls operators with: called with an operator and its arguments, it gives the result."""

    takes_layers_apart: bool  # whether a linear layer is the product that it is made of

    def __call__(self, op: Any, /, *args: Any, **kwargs: Any) -> Any: ...

    def whole(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of an operator that a layer takes apart for such arguments.

        Args:
            op: the operator.
            *args, **kwargs: its arguments.
        """

    def unseen(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of an operator that only makes an argument or statistics ready; a graph has a node of it.

        Args:
            op: the operator.
            *args, **kwargs: its arguments.
        """

    def parts(self, op: Any, /, *args: Any) -> Any:
        """The result of an operator that is made of others, which are called in its place.

        Args:
            op: the operator.
            *args: its arguments.
        """

    def origin(self, t: Any) -> Any:
        """The node of the operator that a tensor is a result of; None for one that is not known.

        Args:
            t: the tensor.
        """


FORMULAS: RuleTable[Callable[..., Any]] = RuleTable("public")
formula = FORMULAS.rule


def named(name: str) -> Any:
    """An operator that others know, whatever its name begins with.

    Args:
        name: the name.
    """
    return getattr(aten, name).default


def target_of(node: Any) -> str:
    """The name of the operator of a node, without its overload.

    Args:
        node: the node; None for one that is not known.
    """
    packet = getattr(getattr(node, "target", None), "overloadpacket", None)
    return "" if packet is None else str(packet.__name__)


def value_of(a: Any) -> Any:
    """What an argument of a node stands for.

    Args:
        a: the argument.
    """
    return a.meta.get("val") if hasattr(a, "meta") else a


def viewed(r: Recording, t: Any, sizes: list[Any]) -> Any:
    """A tensor with other sizes.

    Args:
        r: what calls operators.
        t: the tensor.
        sizes: the sizes.
    """
    if list(t.shape) == sizes:
        return t
    dense = t if t.is_contiguous() else r(aten.clone.default, t)
    return (
        r(aten.view.default, dense, sizes) if dense.is_contiguous() else r(aten.reshape.default, dense, sizes)
    )

"""The function that translates each operator: registered ones, then tl's own, then those of the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tl_core.operators.packets import OpOverload, OpOverloadPacket

from ...export.serde.portable import portable_name
from ..functions import COMPLEX, OWN
from ..libraries import function_library
from ..symbolic_registry import find_symbolic

__all__ = ["Function", "FunctionTable", "operator_name"]

_MATH = {math.ceil: "math::ceil", math.floor: "math::floor", math.trunc: "math::trunc"}


class Function(NamedTuple):
    """A translation of an operator.

    Args:
        kind: "own", "library", "custom" or "symbolic".
        call: the function.
        is_complex: whether it takes complex numbers as pairs.
    """

    kind: str
    call: Any
    is_complex: bool = False


def operator_name(target: Any) -> str:
    """The qualified name of the function that a node calls, as the library writes it.

    Args:
        target: the operator or function.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> operator_name(aten.relu.default), operator_name(aten.add.Tensor)
        ('aten::relu', 'aten::add.Tensor')
    """
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        return str(target.name()) if isinstance(target, OpOverload) else target._qualified_op_name
    if target in _MATH:
        return _MATH[target]
    if getattr(target, "__module__", "") in ("_operator", "builtins"):
        return f"_operator::{target.__name__}"
    name = getattr(target, "name", None)
    if callable(name):  # a higher-order operator
        return f"higher_order::{name()}"
    return f"sym::{getattr(target, '__name__', target)}"


class FunctionTable:
    """Translations by operator.

    Args:
        opset: the operator set of the model, which decides between functions of `register_custom_op_symbolic`.
        custom: functions of `custom_translation_table`, by operator.
    """

    def __init__(self, opset: int, custom: Mapping[Any, Any] | None = None) -> None:
        self.opset = opset
        self.library = function_library()
        self.custom: dict[str, list[Callable[..., Any]]] = {}
        for target, function in (custom or {}).items():
            functions = list(function) if isinstance(function, Sequence) else [function]
            for name in _names_of(target):
                self.custom[name] = functions

    def of_name(self, name: str, is_complex: bool = False) -> Function | None:
        """The translation of an operator, or None.

        Args:
            name: the qualified name.
            is_complex: whether an argument is complex.
        """
        if name in self.custom:
            return Function("custom", self.custom[name])
        symbolic = find_symbolic(name.partition(".")[0], self.opset)
        if symbolic is not None:
            return Function("symbolic", symbolic)
        own = (COMPLEX if is_complex else OWN).get(name)
        if own is not None:
            return Function("own", own)
        real, complex_ = self.library.get(name, (None, None))
        if is_complex:
            return None if complex_ is None else Function("library", complex_, True)
        return None if real is None else Function("library", real)

    def of_node(self, node: Any, is_complex: bool = False) -> Function | None:
        """The translation of a node's operator, or None.

        Args:
            node: the node.
            is_complex: whether an argument is complex.
        """
        for name in names_of_node(node):
            function = self.of_name(name, is_complex)
            if function is not None:
                return function
        return None

    def has(self, target: Any) -> bool:
        """Whether an operator has a translation for real numbers.

        Args:
            target: the operator.
        """
        return any(self.of_name(name) is not None for name in _names_of(target))


def names_of_node(node: Any) -> list[str]:
    """The names by which a node's operator may be known, the best first.

    Args:
        node: the node.
    """
    target = node.target
    names = [operator_name(target)]
    if isinstance(target, OpOverload) and target.namespace == "aten":
        base, _, overload = portable_name(node).removeprefix("aten.").partition(".")
        portable = f"aten::{base}" + ("" if overload == "default" else f".{overload}")
        if portable not in names:
            names.insert(0, portable)
    return names


def _names_of(target: Any) -> list[str]:
    if isinstance(target, OpOverloadPacket):
        return [operator_name(getattr(target, o)) for o in target.overloads()]
    return [operator_name(target)]

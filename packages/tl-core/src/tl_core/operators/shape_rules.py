"""Rules of shapes: the sizes of an operator's results from its arguments, as its row states them.

A rule is an expression of Python, which the build has checked. It computes with sizes that are ints or symbolic ints,
so that the same text gives numbers, and expressions that hold for all sizes of a program.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import CodeType
from typing import Any

from .. import _C
from .shape_functions import FUNCTIONS

__all__ = ["ShapeRule", "rule_of"]


class _Argument:
    """What a rule reads of a tensor.

    Args:
        t: the tensor.

    Attributes:
        shape: the sizes.
        ndim: how many there are.
        dtype: the element type.
    """

    __slots__ = ("dtype", "ndim", "shape")

    def __init__(self, t: Any) -> None:
        self.shape, self.ndim, self.dtype = list(t.shape), t.ndim, t.dtype

    def numel(self) -> Any:
        """The number of elements."""
        return FUNCTIONS["prod"](self.shape)


class ShapeRule:
    """The rule of one operator.

    Args:
        name: the operator.
        arguments: the names and defaults of its arguments.
        text: the expression.
    """

    def __init__(self, name: str, arguments: list[tuple[str, Any]], text: str) -> None:
        self.name, self.text = name, text
        self._names = [n for n, _ in arguments]
        self._defaults = dict(arguments)
        self._code: CodeType | None = None

    def bind(self, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """What the rule reads of the arguments of a call: an operator that writes may change them.

        Args:
            args, kwargs: the arguments.

        Returns:
            The argument `values` of `sizes`.
        """
        values = {**self._defaults, **dict(zip(self._names, args, strict=False)), **kwargs}
        return {name: _argument(a) for name, a in values.items()}

    def sizes(self, values: dict[str, Any]) -> Any:
        """The sizes of the results.

        Args:
            values: the arguments of a call, as `bind` gives them.

        Returns:
            A list of sizes for a tensor; a list of such for several.
        """
        if self._code is None:
            self._code = compile(self.text, f"<shape of {self.name}>", "eval")
        return eval(self._code, {"__builtins__": {}, "__name__": __name__, **FUNCTIONS, **values})


def _argument(a: Any) -> Any:
    if isinstance(a, (list, tuple)):
        return [_argument(x) for x in a]
    return _Argument(a) if hasattr(a, "shape") else a


@functools.cache
def _table() -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = json.loads((Path(_C.__file__).parent / "_shapes.json").read_text())
    return table


@functools.cache
def rule_of(name: str) -> ShapeRule | None:
    """The rule of an operator; None where its row has none.

    Args:
        name: the operator, with its overload: `add.Tensor`.
    """
    entry = _table().get(name)
    if entry is None:
        return None
    arguments, rule = entry
    return ShapeRule(name, [(a, None) if isinstance(a, str) else tuple(a) for a in arguments], rule)

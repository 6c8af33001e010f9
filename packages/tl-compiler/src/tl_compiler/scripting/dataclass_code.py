"""The methods that `dataclass` writes, as sources: the constructor and comparisons."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from .source import FunctionSource, source_of_text

__all__ = ["dataclass_source", "is_generated"]

_ORDER = {"__lt__": ("<", False), "__le__": ("<", True), "__gt__": (">", False), "__ge__": (">", True)}


def dataclass_source(kind: type, name: str) -> FunctionSource | None:
    """Returns the source of a method that `dataclass` wrote for a class; None for a method with a source of its own.

    Args:
        kind: the class.
        name: the name of the method.

    Raises:
        NotImplementedError: a field has a factory, which programs can't call.
    """
    if not dataclasses.is_dataclass(kind) or not is_generated(vars(kind).get(name)):
        return None
    fields = dataclasses.fields(kind)
    scope: dict[str, Any] = {"_class": kind, "bool": bool}
    if name == "__init__":
        text = _constructor(kind, fields, scope)
    elif name == "__eq__":
        pairs = [f"self.{f.name} == other.{f.name}" for f in fields if f.compare]
        text = f"def __eq__(self, other: _class) -> bool:\n    return {' and '.join(pairs) or 'True'}\n"
    elif name in _ORDER:
        sign, at_end = _ORDER[name]
        lines = [f"def {name}(self, other: _class) -> bool:"]
        for field in (f for f in fields if f.compare):
            lines += [f"    if self.{field.name} != other.{field.name}:",
                      f"        return self.{field.name} {sign} other.{field.name}"]  # fmt: skip
        text = "\n".join([*lines, f"    return {at_end}", ""])
    else:
        return None
    return source_of_text(text, scope.__getitem__, kind.__name__, f"<dataclass {kind.__name__}>")[name]


def _constructor(kind: type, fields: tuple[Any, ...], scope: dict[str, Any]) -> str:
    hints = typing.get_type_hints(kind)
    arguments, lines = ["self"], []
    for field in fields:
        if field.default_factory is not dataclasses.MISSING:
            raise NotImplementedError(
                f"Default factory initializers are not supported in TorchScript dataclasses: {kind.__name__}."
                f"{field.name}"
            )
        if not field.init:
            continue
        scope[f"_type_{field.name}"] = hints[field.name]
        text = f"{field.name}: _type_{field.name}"
        if field.default is not dataclasses.MISSING:
            scope[f"_default_{field.name}"] = field.default
            text += f" = _default_{field.name}"
        arguments.append(text)
        lines.append(f"    self.{field.name} = {field.name}")
    if hasattr(kind, "__post_init__"):
        lines.append("    self.__post_init__()")
    return f"def __init__({', '.join(arguments)}):\n" + "\n".join(lines or ["    pass"]) + "\n"


def is_generated(function: Any) -> bool:
    """Returns whether a function of a class was written by `dataclass`.

    Example:
        >>> is_generated(dataclass_source)
        False
    """
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"

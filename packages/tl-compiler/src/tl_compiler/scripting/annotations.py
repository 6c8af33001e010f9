"""Types of TorchScript from annotations of Python and from values."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from typing import Any

import tl_core
from tl_core.futures import Future

from ..jit.decorations import BroadcastingListCls
from ..script.types import Type
from .operator_types import ANY, BOOL, COMPLEX, DEVICE, FLOAT, INT, NONE, NUMBER, STR, TENSOR, list_of

__all__ = ["ClassResolver", "UnknownType", "type_of_annotation", "type_of_value"]

_PLAIN: dict[Any, Type] = {
    tl_core.Tensor: TENSOR, int: INT, float: FLOAT, bool: BOOL, str: STR, complex: COMPLEX, None: NONE, type(None):
    NONE,
    tl_core.device: DEVICE, tl_core.dtype: INT, tl_core.layout: INT, typing.Any: ANY, list: list_of(TENSOR),
    tl_core.Size: list_of(INT), tl_core.Parameter: TENSOR, Ellipsis: ANY,
}  # fmt: skip
_BARE: dict[Any, str] = {list: "List", tuple: "Tuple", dict: "Dict"}


class UnknownType(Exception):
    """An annotation or a value has no type of TorchScript. Its text is the reason."""


class ClassResolver:
    """Declares classes of Python in a program. The compiler implements it."""

    def class_name(self, kind: type) -> str:
        """The dotted name of a class, which the program declares now."""
        raise UnknownType(f"Unknown type annotation: '{kind.__name__}'")


def type_of_annotation(annotation: Any, resolver: ClassResolver) -> Type:
    """Returns the type that an annotation states.

    Args:
        annotation: the annotation, as an object.
        resolver: declares classes.

    Raises:
        UnknownType: it states no type.
    """
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass
    if annotation in (typing.List, typing.Tuple, typing.Dict, tuple, dict):  # noqa: UP006 - programs write these
        word = annotation if isinstance(annotation, type) else typing.get_origin(annotation)
        raise UnknownType(
            f"Attempted to use {_BARE[word]} without a contained type. Please add a contained type, e.g. "
            f"{_BARE[word]}[{'str, int' if word is dict else 'int'}]"
        )
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union([type_of_annotation(a, resolver) for a in arguments])
    if origin in (list, tuple, dict, Future):
        inner = tuple(type_of_annotation(a, resolver) for a in arguments if a != ())
        return Type("Future" if origin is Future else _BARE[origin], inner)
    if origin is typing.Final or str(origin).endswith("Final"):
        return type_of_annotation(arguments[0], resolver)
    if isinstance(annotation, type):
        if issubclass(annotation, tl_core.Tensor):
            return TENSOR
        return Type(resolver.class_name(annotation))
    if isinstance(annotation, BroadcastingListCls):
        return list_of(INT)
    raise UnknownType(f"Unknown type annotation: '{getattr(annotation, '__name__', annotation)}'")


def _union(options: list[Type]) -> Type:
    options_left = [o for o in options if o != NONE]
    if len(options_left) == len(options):
        return _number(options_left) or Type("Union", tuple(options_left))
    inner = (
        options_left[0]
        if len(options_left) == 1
        else _number(options_left) or Type("Union", tuple(options_left))
    )
    return Type("Optional", (inner,))


def _number(options: list[Type]) -> Type | None:
    return NUMBER if {o.name for o in options} == {"int", "float", "complex"} else None


def type_of_value(value: Any, resolver: ClassResolver) -> Type:
    """Returns the type of a value, as of an attribute without an annotation.

    Raises:
        UnknownType: the value has none. The text says why.
    """
    if isinstance(value, tl_core.Tensor):
        return TENSOR
    if isinstance(value, enum.Enum):
        return Type(resolver.class_name(type(value)))
    for kind in (bool, int, float, complex, str):
        if isinstance(value, kind):
            return Type(kind.__name__)
    if value is None:
        return NONE
    if isinstance(value, (tl_core.dtype, tl_core.layout, tl_core.memory_format)):
        return INT
    if isinstance(value, tl_core.device):
        return DEVICE
    if isinstance(value, tl_core.Size):
        return list_of(INT)
    if isinstance(value, (list, tuple, dict)):
        return _type_of_container(value, resolver)
    declared = getattr(type(value), "_declaration", None)
    if declared is not None:
        return Type(resolver.class_name(type(value)))
    if getattr(type(value), "__torch_script_class__", False):
        return Type(resolver.class_name(type(value)))
    raise UnknownType(
        f"Cannot infer concrete type of torch.nn.Module attribute of type {type(value).__name__}"
        if not inspect.isroutine(value)
        else "it is a function"
    )


def _type_of_container(value: Any, resolver: ClassResolver) -> Type:
    if isinstance(value, tuple):
        if hasattr(type(value), "_fields"):
            return Type(resolver.class_name(type(value)))
        return Type("Tuple", tuple(type_of_value(v, resolver) for v in value))
    if not value:
        raise UnknownType(f"{'List' if isinstance(value, list) else 'Dictionary'} inputs must have entries")
    items = list(value.values()) if isinstance(value, dict) else value
    kinds = {type_of_value(v, resolver) for v in items}
    if len(kinds) > 1:
        match = ", ".join(sorted(map(str, kinds)))
        raise UnknownType(
            f"{'Dictionary values' if isinstance(value, dict) else 'List elements'} differ in type: {match}"
        )
    (element,) = kinds
    if isinstance(value, dict):
        return Type("Dict", (type_of_value(next(iter(value)), resolver), element))
    return list_of(element)

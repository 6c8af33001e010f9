"""Types of TorchScript from annotations of Python and from values."""

from __future__ import annotations

import enum
import inspect
import types
import typing
import warnings
from typing import Any

import tl_core
from tl_core.extensions.custom_classes import ScriptObject
from tl_core.futures import Future
from tl_core.tensors.tensor_types import TensorType

from ..jit.decorations import BroadcastingListCls, missing_argument_text
from ..script.types import Type, in_order
from .operator_types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    accepts,
    list_of,
    unify,
)

__all__ = ["KNOWN_NAMES", "ClassResolver", "UnknownType", "type_of_annotation", "type_of_value"]

_PLAIN: dict[Any, Type] = {
    tl_core.Tensor: TENSOR, int: INT, float: FLOAT, bool: BOOL, str: STR, complex: COMPLEX, None: NONE, type(None):
    NONE,
    tl_core.device: DEVICE, tl_core.dtype: INT, tl_core.layout: INT, typing.Any: ANY, list: list_of(TENSOR),
    tl_core.Size: list_of(INT), tl_core.Parameter: TENSOR, Ellipsis: ANY,
}  # fmt: skip
# Names that annotations in comments and texts use without an import.
KNOWN_NAMES: dict[str, Any] = {
    **{name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any")},
    "Tensor": tl_core.Tensor, "torch": tl_core, "Future": Future, "typing": typing,
}  # fmt: skip
_KEYS = (
    "int",
    "bool",
    "float",
    "complex",
    "str",
    "Tensor",
    "Device",
    "Any",
)  # the types of keys of dictionaries
_BARE: dict[Any, str] = {list: "List", tuple: "Tuple", dict: "Dict"}


class UnknownType(RuntimeError):
    """An annotation or a value has no type of TorchScript. Its text is the reason."""


class ClassResolver:
    """Declares classes of Python in a program. The compiler implements it."""

    caller_names: dict[str, Any] = {}  # noqa: RUF012 - an object has its own

    def class_name(self, kind: type) -> str:
        """The dotted name of a class, which the program declares now."""
        raise UnknownType(f"Unknown type annotation: '{kind.__name__}'")

    def class_of_object(self, kind: type) -> str | None:
        """The dotted name of the class of an object, or None if the class can't be one of a program."""
        return None


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
        raise UnknownType(missing_argument_text(_BARE[word]))
    if isinstance(annotation, (str, typing.ForwardRef)):
        return _forward(annotation, resolver)
    if annotation in (typing.Optional, Future):
        raise UnknownType(missing_argument_text("Optional" if annotation is typing.Optional else "Future"))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union([type_of_annotation(a, resolver) for a in arguments])
    if origin in (list, tuple, dict, Future):
        inner = tuple(type_of_annotation(a, resolver) for a in arguments if a != ())
        if origin is dict and inner[0].name not in _KEYS:
            raise UnknownType(
                f"Cannot create dict for key type '{inner[0]}', only int, float, complex, Tensor, device and string "
                "keys are supported"
            )
        return Type("Future" if origin is Future else _BARE[origin], inner)
    if origin is typing.Final or str(origin).endswith("Final"):
        return type_of_annotation(arguments[0], resolver)
    if isinstance(annotation, type):
        if issubclass(annotation, tl_core.Tensor):
            return TENSOR
        if isinstance(annotation, TensorType):
            warnings.warn(
                "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are normal "
                "Tensors. dtype constraints are not enforced in compilation either.",
                stacklevel=2,
            )
            return TENSOR
        return Type(resolver.class_name(annotation))
    if isinstance(annotation, BroadcastingListCls):
        return list_of(INT)
    raise UnknownType(f"Unknown type annotation: '{getattr(annotation, '__name__', annotation)}'")


def _union(options: list[Type]) -> Type:
    flat = [o for option in options for o in _flat(option)]
    options = list(dict.fromkeys(flat))
    options_left = [o for o in options if o != NONE]
    options_left = [
        o for o in options_left if not any(accepts(other, o) for other in options_left if other is not o)
    ]
    options_left = list(in_order(tuple(options_left)))
    if NONE not in options:
        if len(options_left) == 1:
            return options_left[0]
        return _number(options_left) or Type("Union", tuple(options_left))
    inner = (
        options_left[0]
        if len(options_left) == 1
        else _number(options_left) or Type("Union", tuple(options_left))
    )
    return Type("Optional", (inner,))


def _forward(annotation: Any, resolver: Any) -> Type:
    """The type of a name in quotes."""
    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    names = {**KNOWN_NAMES, **resolver.caller_names}
    try:
        return type_of_annotation(eval(text, {}, names), resolver)
    except (NameError, SyntaxError, AttributeError, TypeError):
        raise UnknownType(f"Unknown type annotation: '{text}'") from None


def _flat(kind: Type) -> list[Type]:
    """The options of a type that may itself be a union."""
    if kind.name == "Optional":
        return [*_flat(kind.arguments[0]), NONE]
    return [o for option in kind.arguments for o in _flat(option)] if kind.name == "Union" else [kind]


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
    if isinstance(value, ScriptObject):
        return Type(value._qualified_name)
    declared = getattr(type(value), "_declaration", None)
    if declared is not None:
        return Type(resolver.class_name(type(value)))
    if getattr(type(value), "__torch_script_class__", False):
        return Type(resolver.class_name(type(value)))
    name = resolver.class_of_object(type(value))
    if name is not None:
        return Type(name)
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
    try:
        kinds = {type_of_value(v, resolver) for v in items}
    except UnknownType as error:
        what = "dictionary value" if isinstance(value, dict) else "list element"
        raise UnknownType(f"Could not infer type of {what}: {error}") from None
    element: Type | None = None
    for kind in kinds:
        element = kind if element is None else unify(element, kind)
        if element is None:
            match = ", ".join(sorted(map(str, kinds)))
            raise UnknownType(
                f"{'Dictionary values' if isinstance(value, dict) else 'List elements'} differ in type: {match}"
            )
    assert element is not None
    if isinstance(value, dict):
        return Type("Dict", (type_of_value(next(iter(value)), resolver), element))
    return list_of(element)

"""Types as annotations of an archive write them: `List[int]`, `Optional[Tensor]`, `__torch__.Net`.

>>> str(parse_type("Dict[str, Optional[__torch__.Net]]"))
'Dict[str, Optional[__torch__.Net]]'
>>> parse_type("Tuple[int, Tensor]").element(1)
Type(name='Tensor', arguments=(), fields=())
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from tl_core import Tensor, device
from tl_core.extensions.custom_classes import ScriptObject
from tl_core.futures import Future

from .syntax import dotted_name

__all__ = ["EXTENSION_CLASSES", "Type", "conforms", "in_order", "parse_type", "type_of"]

# The name of a class that an extension registered begins with this.
EXTENSION_CLASSES = "__torch__.torch.classes."


@dataclass(frozen=True)
class Type:
    """A type of TorchScript.

    Args:
        name: the name, such as "List" or "__torch__.Net".
        arguments: the types in brackets.
        fields: the names of the results of an operator, such as "values" and "indices".
    """

    name: str
    arguments: tuple[Type, ...] = ()
    fields: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        if self.name == "Optional" and self.arguments and self.arguments[0].name == "Union":
            options = in_order((*self.arguments[0].arguments, Type("NoneType")))
            return f"Union[{', '.join(map(str, options))}]"
        return f"{self.name}[{', '.join(map(str, self.arguments))}]" if self.arguments else self.name

    @property
    def inner(self) -> Type:
        """The type without `Optional`."""
        return self.arguments[0].inner if self.name == "Optional" and self.arguments else self

    def element(self, index: int | None) -> Type | None:
        """The type of an element, or None where it is unknown.

        Args:
            index: the index, or None where it is unknown.
        """
        kind = self.inner
        if kind.name in ("List", "Future") and kind.arguments:
            return kind.arguments[0]
        if kind.name == "Dict" and len(kind.arguments) == 2:
            return kind.arguments[1]
        if kind.name == "Tuple" and index is not None and -len(kind.arguments) <= index < len(kind.arguments):
            return kind.arguments[index]
        return None


_ORDER = (
    "Tensor",
    "Tuple",
    "List",
    "Dict",
    "float",
    "complex",
    "Future",
    "int",
    "NoneType",
    "str",
    "bool",
    "Device",
)


def in_order(options: tuple[Type, ...]) -> tuple[Type, ...]:
    """Returns the options of a union in the order that PyTorch writes them in: classes first, then by kind.

    Example:
        >>> [str(option) for option in in_order((Type("str"), Type("int"), Type("float")))]
        ['float', 'int', 'str']
    """
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    return tuple(sorted(options, key=lambda option: ranks.get(option.name, -1)))


def type_of(node: ast.AST | None) -> Type:
    """Returns the type that an annotation states. A missing annotation states Tensor.

    Raises:
        RuntimeError: the annotation states no type.
    """
    if node is None:
        return Type("Tensor")
    if isinstance(node, ast.Constant) and node.value is None:
        return Type("NoneType")
    if isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        kinds = tuple(map(type_of, items))
        left = tuple(k for k in kinds if k.name not in ("NoneType", "None"))
        if type_of(node.value).name == "Union" and len(left) < len(kinds):
            return Type("Optional", (left[0] if len(left) == 1 else Type("Union", left),))
        return Type(type_of(node.value).name, tuple(map(type_of, items)))
    if isinstance(node, ast.Tuple):
        return Type("Tuple", tuple(map(type_of, node.elts)))
    name = dotted_name(node)
    if name is None:
        raise RuntimeError(f"line {getattr(node, 'lineno', 0)}: an annotation states no type")
    return Type(name)


def parse_type(text: str) -> Type:
    """Returns the type that a text states.

    Raises:
        RuntimeError: the text states no type.
    """
    try:
        return type_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuntimeError(f"{text[:80]!r} states no type") from error


_CLASSES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,), "int": (int,), "float": (float,), "complex": (complex,), "bool": (bool,), "str": (str,),
    "number": (int, float, complex), "Scalar": (int, float, complex), "NoneType": (type(None),), "None": (type(None),),
    "List": (list,), "list": (list,), "Dict": (dict,), "dict": (dict,), "Tuple": (tuple,), "tuple": (tuple,),
    "Device": (device,), "Future": (Future,), "Any": (object,), "AnyType": (object,),
}  # fmt: skip


def conforms(value: Any, kind: Type, classes: dict[str, type]) -> bool:
    """Returns whether a value is of a type, as `isinstance` of TorchScript judges it.

    Args:
        value: the value.
        kind: the type.
        classes: the classes of the archive by name.

    Example:
        >>> conforms([1, 2], parse_type("List[int]"), {}), conforms(True, parse_type("int"), {})
        (True, False)
    """
    if kind.name == "Optional":
        return value is None or conforms(value, kind.arguments[0], classes)
    if kind.name == "Union":
        return any(conforms(value, option, classes) for option in kind.arguments)
    if kind.name.startswith(EXTENSION_CLASSES):
        return isinstance(value, ScriptObject) and value._qualified_name == kind.name
    expected = _CLASSES.get(kind.name) or (classes.get(kind.name, _Nothing),)
    if not isinstance(value, expected) or (
        isinstance(value, bool) and bool not in expected and object not in expected
    ):
        return False
    if isinstance(value, list) and kind.arguments:
        return all(conforms(v, kind.arguments[0], classes) for v in value)
    if isinstance(value, dict) and len(kind.arguments) == 2:
        first, second = kind.arguments
        return all(conforms(k, first, classes) and conforms(v, second, classes) for k, v in value.items())
    if isinstance(value, tuple) and kind.arguments:
        return len(value) == len(kind.arguments) and all(
            conforms(v, k, classes) for v, k in zip(value, kind.arguments, strict=True)
        )
    return True


class _Nothing:
    """The class of no value: that of a name that the archive doesn't declare."""

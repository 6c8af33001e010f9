"""The operators that functions of Python stand for: `tl.relu` and `torch.relu` are `aten::relu`."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
from typing import Any

import tl_core
import tl_core.operators.packets

from .operator_types import operator_exists

__all__ = ["CASTS", "SETTER", "operator_of", "packet_of", "register_function", "tensor_method"]

SETTER = "_setter"  # the end of the name of the method that sets a property
_aten: Any = tl_core.operators.packets.aten
_SPECIAL = {"linalg": "linalg_", "special": "special_", "fft": "fft_"}
_MATH = {"fabs": "fabs", "remainder": "mathremainder"}
_RENAMED = {"set_grad_enabled": "set_grad_enabled", "tensor": "tensor", "as_tensor": "as_tensor"}


# Modules of tl-quantization whose functions are operators of aten.
_OF_ATEN = frozenset(
    f"tl_quantization.{name}"
    for name in (
        "functions", "fake_quantization", "learnable_fake_quantization", "observed_fake_quantization"
    )
)  # fmt: skip
# Functions that programs registered for operators, by their ids.
_functions: dict[int, tuple[Any, tuple[str, str]]] = {}


@functools.cache
def _table() -> dict[int, tuple[Any, str]]:
    """The names of operators by the id of the function, which the entry keeps alive."""
    table: dict[int, tuple[Any, str]] = {}

    def add(function: Any, name: str) -> None:
        if callable(function) and not isinstance(function, type) and operator_exists(name):
            table.setdefault(id(function), (function, name))

    for name in dir(tl_core):
        if not name.startswith("__"):
            add(getattr(tl_core, name, None), name)
    for room, prefix in _SPECIAL.items():
        module = getattr(tl_core, room)
        for name in dir(module):
            add(getattr(module, name, None), prefix + name)
    for name in ("tensor", "as_tensor", "manual_seed", "is_grad_enabled", "set_grad_enabled"):
        function = getattr(tl_core, name)
        table[id(function)] = function, name
    for name in dir(math):
        add(getattr(math, name), _MATH.get(name, name))
    return table


def operator_of(function: Any) -> str | None:
    """Returns the name of the operator that a function stands for, or None.

    Example:
        >>> operator_of(tl_core.relu), operator_of(math.sqrt), operator_of(print)
        ('relu', 'sqrt', None)
    """
    entry = _table().get(id(function))
    if entry is not None:
        return entry[1]
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None) or ""
    if (
        module.startswith(("tl_core", "tl.", "torch"))
        and getattr(tl_core, name, None) is function
        and operator_exists(name)
    ):
        return str(name)
    return str(name) if _defining_module(function) in _OF_ATEN and operator_exists(name) else None


def _defining_module(function: Any) -> str:
    """The module whose text defines a function, which says another name where programs import `torch`."""
    if not isinstance(function, types.FunctionType):
        return ""
    return str(inspect.unwrap(function).__globals__.get("__name__", ""))


def packet_of(value: Any) -> tuple[str, str] | None:
    """Returns the namespace and the name of an operator of `torch.ops`, or None for another value."""
    if id(value) in _functions:
        return _functions[id(value)][1]
    packet = getattr(value, "overloadpacket", value)
    if isinstance(packet, tl_core.operators.packets.OpOverloadPacket):
        namespace, _, name = packet._qualified_op_name.partition("::")
        return namespace, name
    return None


def register_function(function: Any, operator: str) -> None:
    """Lets a function stand for an operator in programs.

    Args:
        function: the function.
        operator: the full name of the operator.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> register_function(print, "aten::relu")
        >>> packet_of(print)
        ('aten', 'relu')
        >>> del _functions[id(print)]
    """
    namespace, separator, name = operator.partition("::")
    if not separator:
        raise ValueError(f"expected the full name of an operator, such as aten::relu, got {operator!r}")
    _functions[id(function)] = function, (namespace, name)


def tensor_method(name: str) -> bool:
    """Returns whether tensors of programs have a method.

    Example:
        >>> tensor_method("relu"), tensor_method("numpy")
        (True, False)
    """
    return name not in _NO_METHODS and (name in _OWN_METHODS or name in CASTS or hasattr(_aten, name))


# Conversions of the element type that tensors of programs have, and the numbers of the types in TorchScript.
CASTS = {
    "byte": 0, "char": 1, "short": 2, "int": 3, "long": 4, "half": 5, "float": 6, "double": 7, "cfloat": 9,
    "cdouble": 10,
}  # fmt: skip
_NO_METHODS = frozenset(("numpy", "tolist", "register_hook", "new", "apply_", "map_"))
_OWN_METHODS = frozenset(
    (
        "size",
        "dim",
        "item",
        "numel",
        "backward",
        "cuda",
        "cpu",
        "to",
        "type_as",
        "new_tensor",
        "type",
        "unique",
    )
)


def is_module(value: Any) -> bool:
    """Returns whether a value is a module or a namespace of Python, whose attributes are looked up at once."""
    ops: Any = tl_core.ops
    namespace = type(ops), type(ops.aten)
    return isinstance(value, (types.ModuleType, *namespace)) or value is sys

"""`torch._library.utils`: what clients of the library ask of schemas and names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tl_core.operators.names import lookup_op, parse_namespace
from tl_core.schemas.function_schema import base_type, is_list
from tl_core.schemas.parser import parse_schema
from tl_core.schemas.signatures import device_argument, filled, has_kwarg_only_tensors, is_functional
from tl_core.subclasses.fake_impl import caller

__all__ = [
    "Kernel",
    "RegistrationHandle",
    "get_source",
    "is_functional_schema",
    "lookup_op",
    "parse_namespace",
]


def is_functional_schema(schema: Any) -> bool:
    """Whether an operator writes nothing and returns new memory.

    Args:
        schema: its schema, as such or as text.
    """
    return is_functional(parse_schema(schema) if isinstance(schema, str) else schema)


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type is that of a list of tensors, or of None and such a list.

    Args:
        typ: a type of a schema.
    """
    return is_list(typ) and base_type(typ).name == "Tensor"


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a type is that of a tensor, or of None and a tensor.

    Args:
        typ: a type of a schema.
    """
    return not is_list(typ) and base_type(typ).name == "Tensor"


has_kwarg_only_args_tensors = has_kwarg_only_tensors
get_device_arg_index = device_argument
fill_defaults = filled


@dataclasses.dataclass
class Kernel:
    """A function and where it was registered."""

    func: Callable[..., Any]
    source: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class RegistrationHandle:
    """Takes something back that was registered.

    Args:
        on_destroy: does it.
    """

    def __init__(self, on_destroy: Callable[[], None]) -> None:
        self._on_destroy = on_destroy

    def destroy(self) -> None:
        """Takes it back."""
        self._on_destroy()


def get_source(stacklevel: int) -> str:
    """`file:line` of a caller.

    Args:
        stacklevel: how many calls up.
    """
    return caller(stacklevel)


def is_builtin(op: Any) -> bool:
    """Whether an operator is the core's own.

    Args:
        op: the operator.
    """
    return op.namespace in {"aten", "prim", "prims"}


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Whether a call writes its first argument and returns it.

    Args:
        op: the operator.
    """
    schema = op._schema
    if op.namespace == "" or not schema.is_mutable or len(schema.returns) != 1:
        return False
    result = schema.returns[0].alias_info
    first = schema.arguments[0].alias_info if schema.arguments else None
    if result is None or first is None or not (result.is_write and first.is_write):
        return False
    return result.before_set == first.before_set and not any(a.alias_info for a in schema.arguments[1:])


def has_aliased_argument(op: Any) -> bool:
    """Whether the schema says of an argument that it shares memory.

    Args:
        op: the operator.
    """
    return any(a.alias_info is not None and not a.is_write for a in op._schema.arguments)

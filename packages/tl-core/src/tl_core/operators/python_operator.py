"""Operators whose calls are functions of Python, and their packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.operators.packets import PACKETS, OpOverload, OpOverloadPacket

__all__ = ["Overloads", "PythonOperator", "PythonPacket", "add_packets"]

Overloads = dict[str, tuple[str, Callable[..., Any]]]  # schema and function by the name of the overload


class PythonOperator(OpOverload):
    """An operator whose call is a function of Python.

    Args:
        packet: the overloads it belongs to.
        overload: its own name among them.
        schema: what it takes, as schemas write it.
        function: what a call does.
    """

    def __init__(
        self, packet: OpOverloadPacket, overload: str, schema: str, function: Callable[..., Any]
    ) -> None:
        # Not OpOverload's, which looks a kernel up.
        name = packet.__name__ + ("" if overload == "default" else f".{overload}")
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname, self._native_name, self._schema_text = overload, name, schema
        self._name = f"{packet._namespace}::{name}"
        self.__qualname__, self.__module__ = self._name, packet.__module__
        self.__name__ = f"{packet.__name__}.{overload}"
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __hash__(self) -> int:
        return object.__hash__(self)

    @property
    def tags(self) -> list[Any]:
        """What is known of it beyond its schema: a list of `Tag`."""
        from tl_core.schemas.tags import tags_of_function

        return tags_of_function(self._native_name)

    _tags = tags

    @property
    def _schema(self) -> Any:
        from tl_core.schemas.parser import parse_schema

        return parse_schema(f"{self.overloadpacket._namespace}::{self._schema_text}")


class PythonPacket(OpOverloadPacket):
    """The overloads of an operator of Python. A call takes the first.

    A derived class may have another class of overloads.

    Args:
        namespace: the namespace.
        name: the name.
        overloads: schemas and functions by the overloads' names.
    """

    _kind: type[PythonOperator] = PythonOperator

    def __init__(self, namespace: str, name: str, overloads: Overloads) -> None:
        # Not OpOverloadPacket's, which looks kernels up.
        self.__name__, self._namespace = name, namespace
        self.__qualname__, self.__module__ = name, f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overload_names = list(overloads)
        for overload, (schema, function) in overloads.items():
            setattr(self, overload, self._kind(self, overload, schema, function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self._overload_names[0])(*args, **kwargs)


def add_packets(namespace: str, table: dict[str, Overloads]) -> None:
    """Adds operators to a namespace.

    Args:
        namespace: the namespace, such as "aten".
        table: the overloads by the operator's name.
    """
    PACKETS.update({f"{namespace}::{name}": PythonPacket(namespace, name, o) for name, o in table.items()})

"""Every operator by its full name: `ops.aten.add.Tensor(a, b)`; `ops.aten.add(a, b)` takes the overload that fits."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core.overrides import handle_torch_function, is_overriding


def _called(operator: Any, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator's result, or what an argument that overrides says."""
    if any(type(a) is not _C.Tensor and is_overriding(a) for a in args):
        return handle_torch_function(operator, args, *args, **kwargs)
    return _C._call_operator(names, *args, **kwargs)


class OpOverload:
    """One operator: a name with its overload."""

    def __init__(self, packet: OpOverloadPacket, overload: str, name: str, schema: str) -> None:
        self.overloadpacket, self._overloadname, self._name = packet, overload, name
        self._schema = schema
        self.__name__ = f"{packet.__name__}.{overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _called(self, (self._name,), args, kwargs)

    def name(self) -> str:
        """The name as schemas write it: `aten::add.Tensor`."""
        return self._name if "::" in self._name else f"aten::{self._name}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """All overloads of one name; `default` is the one whose schema names none."""

    def __init__(self, namespace: str, name: str, overloads: dict[str, tuple[str, str]]) -> None:
        self.__name__, self._namespace = name, namespace
        self._names = tuple(full for full, _ in overloads.values())
        for overload, (full, schema) in overloads.items():
            setattr(self, overload, OpOverload(self, overload, full, schema))
        self._overloads = list(overloads)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _called(self, self._names, args, kwargs)

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._overloads)

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Namespace:
    """The operators whose names begin with `namespace::`; those of tl-core stand in aten."""

    def __init__(self, namespace: str) -> None:
        self.__name__ = namespace

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = {}
        for full, schema in _C._operators().items():
            space, _, rest = full.rpartition("::")
            base, _, overload = rest.partition(".")
            if base == name and (space or "aten") == self.__name__:
                found[overload or "default"] = (full, schema)
        if not found:
            raise AttributeError(f"there is no operator {self.__name__}::{name}")
        packet = OpOverloadPacket(self.__name__, name, found)
        setattr(self, name, packet)
        return packet


aten = _Namespace("aten")


def __getattr__(name: str) -> _Namespace:
    """Namespaces of operators that other libraries register."""
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, _Namespace(name))

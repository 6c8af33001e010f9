"""Every operator by its full name: `ops.aten.add.Tensor(a, b)`; `ops.aten.add(a, b)` takes the overload that fits."""

from __future__ import annotations

from typing import Any

from tl_core import _C


class OpOverload:
    """One operator: a name with its overload."""

    def __init__(self, packet: OpOverloadPacket, overload: str, name: str, schema: str) -> None:
        self.overloadpacket, self._overloadname, self._name = packet, overload, name
        self._schema = schema
        self.__name__ = f"{packet.__name__}.{overload}"
        self._called = (name, self)  # the callable is what overrides are told of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _C._call_operator(self._called, *args, **kwargs)

    def __reduce__(self) -> Any:
        return getattr, (self.overloadpacket, self._overloadname)

    def name(self) -> str:
        """The name as schemas write it: `aten::add.Tensor`."""
        return self._name if "::" in self._name else f"aten::{self._name}"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

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
        self._called = (*self._names, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _C._call_operator(self._called, *args, **kwargs)

    def __reduce__(self) -> Any:
        return _packet, (self._namespace, self.__name__)

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


def _overload(full: str) -> OpOverload:
    """The operator of that name, such as `add.Tensor` or `mylib::sinc`."""
    space, _, rest = full.rpartition("::")
    base, _, overload = rest.partition(".")
    return getattr(_packet(space or "aten", base), overload or "default")


def _packet(namespace: str, name: str) -> OpOverloadPacket:
    """The overloads of an operator, for pickles."""
    return getattr(aten if namespace == "aten" else __getattr__(namespace), name)


aten = _Namespace("aten")
loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """Loads a shared library, which may register operators when it is loaded.

    Args:
        path: the file.

    Raises:
        OSError: it can't be loaded.
    """
    import ctypes

    ctypes.CDLL(str(path))
    loaded_libraries.add(str(path))


def __getattr__(name: str) -> _Namespace:
    """Namespaces of operators that other libraries register."""
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, _Namespace(name))

"""The functions that calls of operators in an archive's code become.

`torch.add(a, b)` is an operator of tensors or one of numbers, which the arguments decide. `torch.zeros([2], dtype=6)`
states an element type as a number. The schemas of the operator decide which arguments are converted.

>>> import tl_core
>>> bind("add", 2, ())(1, 2), bind("add", 2, ())(tl_core.ones(1), 2)
(3, tensor([3.]))
>>> bind("zeros", 1, ("dtype",))([2], dtype=4)
tensor([0, 0])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import tl_core
from tl_core import Tensor

from .dtype_codes import dtype_of, layout_of, memory_format_of
from .values import FUNCTIONS, PRIM

__all__ = ["bind", "bind_custom", "bind_prim"]

Function = Callable[..., Any]
_ops: Any = tl_core.ops
_READERS: dict[str, Callable[[Any], Any]] = {
    "ScalarType": dtype_of,
    "Layout": layout_of,
    "MemoryFormat": memory_format_of,
}
_CONTAINERS = (list, dict, str)
# Operators that only `FUNCTIONS` computes, for tensors too.
_OWN = frozenset(("size", "len", "item", "list", "tolist", "tensor", "as_tensor", "Int", "Float", "Bool", "Complex",
                  "IntImplicit", "FloatImplicit", "ComplexImplicit", "ScalarImplicit", "append", "warn"))  # fmt: skip


@functools.cache
def bind(name: str, count: int, keywords: tuple[str, ...]) -> Function:
    """Returns the function of an operator for calls with so many arguments.

    Args:
        name: the name below `torch`, such as "add".
        count: the number of positional arguments.
        keywords: the names of the keyword arguments.

    Returns:
        The function. If there is no such operator, the function raises RuntimeError with its name.
    """
    if name == "to":
        return _to
    of_values = FUNCTIONS.get(name)
    packet = None if name in _OWN else getattr(_ops.aten, name, None)
    of_tensors = None if packet is None else _of_tensors(packet, count, keywords)
    if of_tensors is None:
        return of_values or _absent(f"aten::{name}")
    return of_tensors if of_values is None else _either(of_tensors, of_values)


def bind_prim(name: str) -> Function:
    """Returns the function of an operator of `ops.prim`. If it is absent, the function raises RuntimeError."""
    return PRIM.get(name) or _absent(f"prim::{name}")


def bind_custom(namespace: str, name: str, count: int, keywords: tuple[str, ...]) -> Function:
    """Returns the function of an operator of a library. If it is absent, the function raises RuntimeError.

    Args:
        namespace: the namespace of the library.
        name: the name of the operator.
        count: the number of arguments by position.
        keywords: the names of the arguments by name.
    """
    packet = getattr(getattr(_ops, namespace), name, None)
    if packet is None:
        return _absent(f"{namespace}::{name}")
    return _of_tensors(packet, count, keywords) or packet


def _absent(name: str) -> Function:
    def call(*arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError(f"Unknown builtin op: {name}. tl has no operator of this name")

    return call


def _either(of_tensors: Function, of_values: Function) -> Function:
    """A function that looks at its first two arguments."""

    def call(first: Any, *rest: Any, **keywords: Any) -> Any:
        if isinstance(first, Tensor) or (
            rest and isinstance(rest[0], Tensor) and not isinstance(first, _CONTAINERS)
        ):
            return of_tensors(first, *rest, **keywords)
        return of_values(first, *rest, **keywords)

    return call


# ---- operators of tensors
_OF_TYPE = ("dtype", "non_blocking", "copy", "memory_format")
_OF_LAYOUT = ("dtype", "layout", "device", "pin_memory", "non_blocking", "copy", "memory_format")


def _to(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
    """`to`: the arguments behind the tensor decide which overload names them."""
    first, second = (*arguments, None, None)[:2]
    if isinstance(first, Tensor):
        names: tuple[str, ...] = ("other", *_OF_TYPE[1:])
    elif not isinstance(first, int):  # a device, its name or None
        names = ("device", *_OF_TYPE)
    elif isinstance(second, int) and not isinstance(second, bool):  # a layout, in older archives
        names = _OF_LAYOUT
    else:
        names = _OF_TYPE
    values = {**dict(zip(names, arguments, strict=False)), **keywords}
    for name, reader in (("dtype", dtype_of), ("layout", layout_of), ("memory_format", memory_format_of)):
        if values.get(name) is not None:
            values[name] = reader(values[name])
    return _ops.aten.to(x, **values)


def _of_tensors(packet: Any, count: int, keywords: tuple[str, ...]) -> Function | None:
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    overloads = [o for o in overloads if _writes_out(o._schema) == ("out" in keywords)]
    of_tensors = [o for o in overloads if _names_tensors(o._schema)]
    fits = [o for o in of_tensors if _fits(o._schema, count, keywords)]
    fits = [o for o in fits if count <= _positions(o._schema)] or fits
    if not of_tensors:
        return None
    schemas = [o._schema for o in fits]
    names = _extra_names(schemas, count)
    readers = _readers(schemas, count - len(names), (*keywords, *names))
    function = _with_lists(fits[0] if len(fits) == 1 and "out" in keywords else packet, schemas)
    return _converting(function, readers, names) if readers or names else function


def _writes_out(schema: Any) -> bool:
    return any(a.is_out for a in schema.arguments)


def _positions(schema: Any) -> int:
    return sum(not a.kwarg_only for a in schema.arguments)


def _names_tensors(schema: Any) -> bool:
    return any("Tensor" in str(a.type) for a in (*schema.arguments, *schema.returns))


def _fits(schema: Any, count: int, keywords: Sequence[str]) -> bool:
    arguments = {a.name for a in schema.arguments}
    return len(arguments) >= count + len(keywords) and arguments.issuperset(keywords)


def _extra_names(schemas: Iterable[Any], count: int) -> tuple[str, ...]:
    """The names of positional arguments that the operator takes by keyword only, as older archives write them."""
    surplus: list[tuple[str, ...]] = []
    for schema in schemas:
        positional = [a.name for a in schema.arguments if not a.kwarg_only]
        if count <= len(positional):
            return ()
        surplus.append(tuple(a.name for a in schema.arguments if a.kwarg_only)[: count - len(positional)])
    return surplus[0] if surplus else ()


def _readers(schemas: Iterable[Any], count: int, keywords: Sequence[str]) -> dict[int | str, Function]:
    """The conversions of numbers to element types, layouts and memory formats, by position or name."""
    readers: dict[int | str, Function] = {}
    for schema in schemas:
        positional = [a for a in schema.arguments if not a.kwarg_only]
        for key, argument in (*enumerate(positional[:count]), *((a.name, a) for a in schema.arguments)):
            reader = _READERS.get(argument.real_type.schema_text().rstrip("?"))
            if reader is not None and (isinstance(key, int) or key in keywords):
                readers.setdefault(key, reader)
    return readers


def _converting(function: Function, readers: dict[int | str, Function], names: tuple[str, ...]) -> Function:
    positions = [(key, reader) for key, reader in readers.items() if isinstance(key, int)]
    by_name = [(key, reader) for key, reader in readers.items() if isinstance(key, str)]

    def call(*arguments: Any, **keywords: Any) -> Any:
        values = list(arguments)
        if names:
            split = len(values) - len(names)
            keywords.update(zip(names, values[split:], strict=True))
            del values[split:]
        for position, reader in positions:
            values[position] = reader(values[position])
        for name, reader in by_name:
            if name in keywords:
                keywords[name] = reader(keywords[name])
        return function(*values, **keywords)

    return call


def _with_lists(packet: Any, schemas: Iterable[Any]) -> Function:
    """The operator; its results are lists where the schema states lists, as a program may append to them."""
    if not any(len(s.returns) == 1 and "[]" in s.returns[0].type_text() for s in schemas):
        return cast(Function, packet)

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = packet(*arguments, **keywords)
        return list(result) if isinstance(result, tuple) else result

    return call

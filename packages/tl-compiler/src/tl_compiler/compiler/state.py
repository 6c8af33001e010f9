"""The state that a call reads: a key, the tensors in it, and the contents of containers before the call."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .function_annotations import Mark

__all__ = ["ABSENT", "State", "Unprovable"]

ABSENT: Any = object()


class Unprovable(Exception):
    """The state of a call can't be described in full.

    Args:
        reason: why.
        file, line: where the program says so; None where no line does.
    """

    def __init__(self, reason: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.file, self.line = reason, file, line


class State(NamedTuple):
    """What a call can read.

    Args:
        key: equal where two calls would record the same operators.
        tensors: the tensors, in the order of the key.
        names: what to call them.
        sizes: the sizes and strides of each, which the key leaves out.
        numbers: the arguments that are ints, and what to call them; the key leaves out their values.
        argument_names: how the names of tensors begin that are reached through the arguments.
        ids: the number of each object in the order of the walk, by its id.
        codes: the code that may run.
        refused: of code that can't be captured where it runs, why, and the line.
        contents: containers and copies of their contents.
        attributes: modules and classes with named attributes, and the attributes.
        slots: objects, the names of their slots, and the contents.
        variables: the namespaces and names of global variables that the code assigns, and their values.
        cells: the variables of enclosing functions, and their values.
        objects: the visited objects, whose ids stay in use.
        pinned: those of them whose ids the key has.
        marked: the functions with marks for the compiler.
    """

    key: tuple[Any, ...]
    tensors: list[Any]
    names: list[str]
    sizes: list[tuple[tuple[int, ...], tuple[int, ...]]]
    numbers: list[tuple[str, int]]
    argument_names: tuple[str, ...]
    ids: dict[int, int]
    codes: set[CodeType]
    refused: dict[CodeType, tuple[str, int]]
    contents: list[tuple[Any, Any]]
    attributes: list[tuple[Any, str, Any]]
    slots: list[tuple[Any, str, Any]]
    variables: list[tuple[dict[str, Any], str, Any]]
    cells: list[tuple[Any, Any]]
    objects: list[Any]
    pinned: list[Any]
    marked: dict[FunctionType, Mark]

    @property
    def facts(self) -> tuple[Any, ...]:
        """All that tells calls apart: the key, the sizes and the numbers."""
        return self.key, tuple(self.sizes), tuple(n for _, n in self.numbers)

    def restore(self) -> None:
        """Gives containers, attributes and variables back what they held."""
        for container, before in self.contents:
            _restore(container, before)
        for owner, name, value in self.attributes:
            if vars(owner).get(name, ABSENT) is not value:
                _set_attribute(owner, name, value)
        for owner, name, value in self.slots:
            if getattr(owner, name, ABSENT) is not value:
                _set_attribute(owner, name, value)
        for namespace, name, value in self.variables:
            if value is not ABSENT:
                namespace[name] = value
            else:
                namespace.pop(name, None)
        for cell, value in self.cells:
            if value is not ABSENT:
                cell.cell_contents = value
            elif _is_filled(cell):
                del cell.cell_contents


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    if value is ABSENT:
        delattr(owner, name)
    elif isinstance(owner, type):
        type.__setattr__(owner, name, value)
    else:
        object.__setattr__(owner, name, value)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not ABSENT
    except ValueError:
        return False


def _restore(container: Any, before: Any) -> None:
    now = list(container.items()) if isinstance(container, dict) else list(container)
    if len(now) == len(before) and all(_same(a, b) for a, b in zip(now, before, strict=True)):
        return
    container.clear()
    if isinstance(container, dict):
        dict.update(container, before)
    elif isinstance(container, set):
        container.update(before)
    else:
        container.extend(before)


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is tuple and len(a) == 2 and a[0] is b[0] and a[1] is b[1])

"""What can be told of a function from its code: which names it reads, and what of it no graph can repeat."""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType
from typing import NamedTuple

from .purity import DENIED_NAMES, HIGHER_ORDER

__all__ = ["CodeFacts", "facts_of"]


class CodeFacts(NamedTuple):
    """What a function and the functions inside of it do with names.

    Args:
        codes: their code.
        names: global names and attributes, and texts that may name attributes.
        imports: modules that are imported in the course of a call.
        refused: of each code that can't be captured where it runs, why, and the line.
        calls_back: whether functions of C may call what they are given.
        assigned: the global variables that are assigned.
        stored: the attributes that are assigned, and texts that may name such.
    """

    codes: tuple[CodeType, ...]
    names: tuple[str, ...]
    imports: tuple[str, ...]
    refused: dict[CodeType, tuple[str, int]]
    calls_back: bool
    assigned: tuple[str, ...]
    stored: tuple[str, ...]


@functools.lru_cache(maxsize=4096)
def facts_of(code: CodeType) -> CodeFacts:
    """What can be told of a function's code.

    Args:
        code: the code.

    Example:
        >>> def count():
        ...     global total
        ...     total = 1
        >>> facts_of(count.__code__).assigned
        ('total',)
    """
    codes, names, imports = [code], dict.fromkeys(code.co_names), dict[str, None]()
    calls_back = not HIGHER_ORDER.isdisjoint(code.co_names)
    refusal = _refusal(code)
    refused = {} if refusal is None else {code: refusal}
    imports.update(dict.fromkeys(_operands(code, "IMPORT_NAME")))
    assigned = dict.fromkeys(_operands(code, "STORE_GLOBAL"))
    stored = dict.fromkeys(_operands(code, "STORE_ATTR"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = facts_of(constant)
            codes += inner.codes
            names.update(dict.fromkeys(inner.names))
            imports.update(dict.fromkeys(inner.imports))
            assigned.update(dict.fromkeys(inner.assigned))
            stored.update(dict.fromkeys(inner.stored))
            refused |= inner.refused
            calls_back |= inner.calls_back
        elif isinstance(constant, str) and len(constant) < 64 and constant.isidentifier():
            names[constant] = None
            if "setattr" in code.co_names or "__setattr__" in code.co_names:
                stored[constant] = None
    return CodeFacts(
        tuple(codes), tuple(names), tuple(imports), refused, calls_back, tuple(assigned), tuple(stored)
    )


def _refusal(code: CodeType) -> tuple[str, int] | None:
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return "the function is asynchronous", code.co_firstlineno
    denied = DENIED_NAMES.intersection(code.co_names)
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        if step.opname == "DELETE_GLOBAL":
            return f"the global variable {step.argval} is deleted", line
        if step.opname == "DELETE_DEREF" and step.argval in code.co_freevars:
            return f"the variable {step.argval} of an enclosing function is deleted", line
        if denied and step.opcode in dis.hasname and step.argval in denied:
            return f"{step.argval} is used, whose effect or value no graph has", line
    return None


def _operands(code: CodeType, name: str) -> list[str]:
    """The names that the instructions of one kind have."""
    return [step.argval for step in dis.get_instructions(code) if step.opname == name]

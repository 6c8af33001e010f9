"""Signatures of the functions and methods of a program."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ..script.printing import expression_text
from ..script.types import Type, type_of
from .operands import Value

__all__ = ["Signature", "signature_of"]


@dataclass
class Signature:
    """The signature of a compiled function.

    Args:
        name: the dotted name, or the name of a method.
        arguments: the name, the type and the default of each argument; a default is code, or None.
        result: the type of the result.
        inferred: the names of the arguments without an annotation.
    """

    name: str
    arguments: list[tuple[str, Type, Value | None]]
    result: Type
    inferred: frozenset[str] = frozenset()


def signature_of(node: ast.FunctionDef, name: str, skip: int = 0) -> Signature:
    """Returns the signature of a function of a program.

    Args:
        node: the definition.
        name: the name in messages.
        skip: the number of arguments before the first one.
    """
    defaults: list[Any] = [None] * (len(node.args.args) - len(node.args.defaults)) + list(node.args.defaults)
    arguments = []
    for argument, default in list(zip(node.args.args, defaults, strict=True))[skip:]:
        kind = type_of(argument.annotation)
        value = None if default is None else Value(expression_text(default), kind)
        arguments.append((argument.arg, kind, value))
    return Signature(name.rpartition(".")[2], arguments, type_of(node.returns))

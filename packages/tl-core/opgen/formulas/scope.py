"""The names that a formula may read, and the errors of a formula."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from opgen.formulas.tree import Input, Node, Stored
from opgen.row import Row
from opgen.schema import Arg

Names = dict[str, Node]
_OPTIONAL_KINDS = {"ScalarType": "dtype", "Device": "device", "Layout": "layout"}
_KINDS = {"bool": "bool", "int": "int", "float": "float", **_OPTIONAL_KINDS}


class FormulaError(ValueError):
    """A formula that cannot be compiled. The message names the row and the part."""


@dataclass(frozen=True)
class Scope:
    """Names and their values. `subject` names a part of the formula for errors."""

    subject: Callable[[ast.AST | None], str]
    names: Names

    def find(self, node: ast.Name) -> Node:
        """The value of a name; raises FormulaError for an unknown name."""
        if node.id not in self.names:
            self.fail(node, "is no argument, result or gradient of the row")
        return self.names[node.id]

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block whose new names end with it."""
        outer = dict(self.names)
        yield
        self.names.clear()
        self.names.update(outer)

    def fail(self, node: ast.AST | str, reason: str) -> NoReturn:
        """Raises FormulaError about a part of the formula."""
        text, part = (node, None) if isinstance(node, str) else (ast.unparse(node).splitlines()[0], node)
        raise FormulaError(f"{self.subject(part)}: {text!r} {reason}")


def arguments(row: Row) -> Names:
    """The arguments of a row."""
    return {arg.name: Stored(argument_kind(arg), "ARG", i) for i, arg in enumerate(row.args)}


def argument_kind(arg: Arg) -> str:
    """The kind of an argument's value."""
    if arg.is_tensor:
        return "operand" if arg.type == "Operand" else "tensor"
    if arg.is_tensor_list:
        return "tensors"
    if arg.type.endswith("[]"):
        return "list"
    return (_OPTIONAL_KINDS if arg.optional else _KINDS).get(arg.type, "value")


def results(row: Row) -> Names:
    """The results of a row: by their names, by position, and `result` for the first."""
    names: Names = {}
    for i, ret in enumerate(row.rets):
        stored = Stored("tensors" if ret.is_tensor_list else "tensor", "RESULT", i)
        taken = {*names, *(arg.name for arg in row.args)}
        names |= {name: stored for name in (ret.name, f"result{i}") if name and name not in taken}
        if i == 0:
            names["result"] = stored
    return names


def gradients(row: Row) -> Names:
    """The gradients of the results: `g0`, `g_<result>`, `g` for the first, and the list of all."""
    everything = Input("tensors", ("GRADS", 0))
    names: Names = {}
    for i, ret in enumerate(row.rets):
        value = everything if ret.is_tensor_list else Input("tensor", ("GRAD", i))
        names |= {name: value for name in (f"g{i}", ret.name and f"g_{ret.name}", "" if i else "g") if name}
    return {**names, "grads": everything}


def tangents(row: Row) -> Names:
    """The tangents of the arguments: `t_<argument>`."""
    names: Names = {}
    for i, arg in enumerate(row.args):
        if arg.is_tensor:
            names[f"t_{arg.name}"] = Input("tensor", ("GRAD", i))
        elif arg.is_tensor_list:
            names[f"t_{arg.name}"] = extra(1 + i, "tensors")
    return names


def extra(index: int, kind: str) -> Stored:
    """A value that a rule's caller adds to the call."""
    return Stored(kind, "EXTRA", index)

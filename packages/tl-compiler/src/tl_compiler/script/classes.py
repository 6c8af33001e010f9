"""Classes that an archive declares: modules, records, named tuples, enumerations and interfaces.

A declaration is read from the code. Instances are made by the unpickler, or by the program itself. Objects of an
archive have the attributes that their class declares and no others.
"""

from __future__ import annotations

import ast
import enum
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, cast

from tl_nn import Module

from .syntax import literal
from .types import Type, type_of

__all__ = ["Declaration", "Record", "declare", "make_enum", "make_tuple"]

# Attributes of nn.Module that archives set as data.
_MODULE_DATA = frozenset(("training", "_is_full_backward_hook", "dump_patches"))
_MODULE_NAMES = frozenset(dir(Module())) - _MODULE_DATA


class Record:
    """An object of a class that an archive declares.

    Example:
        >>> vars(Record())
        {}
    """

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__}>"


@dataclass
class Declaration:
    """The declaration of a class.

    Args:
        name: the dotted name.
        kind: "module", "record", "tuple", "enum", "interface" or "module interface".
        attributes: the types of the attributes by name.
        parameters, buffers: the names of the attributes of a module that are parameters and buffers.
        pre_hooks, hooks: the names of the methods that run before and after `forward`.
        constants: the values of constant attributes.
        methods: the definitions of the methods.
        members: the values of an enumeration.
    """

    name: str
    kind: str
    attributes: dict[str, Type] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    pre_hooks: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)
    members: dict[str, Any] = field(default_factory=dict)


_KINDS = {"Module": "module", "NamedTuple": "tuple", "Enum": "enum", "Interface": "interface",
          "ModuleInterface": "module interface"}  # fmt: skip


# Attributes of e3nn's modules, which only look like names of Python.
_PLAIN_NAMES = frozenset({"__codegen__", "__e3nn_compile_mode__"})


def declare(name: str, node: ast.ClassDef) -> Declaration:
    """Returns the declaration that a class's code states.

    Args:
        name: the dotted name of the class.
        node: the class.

    Raises:
        RuntimeError: the code declares something that no class of an archive has.
    """
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    if len(bases) != len(node.bases) or len(bases) > 1 or (bases and bases[0] not in _KINDS):
        raise RuntimeError(
            f"{name}: a class of an archive derives from Module, NamedTuple, Enum, Interface or nothing"
        )
    result = Declaration(name, _KINDS[bases[0]] if bases else "record")
    for statement in node.body:
        _read(result, statement)
    _check_names(result)
    return result


def _read(result: Declaration, statement: ast.stmt) -> None:
    match statement:
        case ast.FunctionDef():
            result.methods[statement.name] = statement
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
            result.attributes[name] = type_of(annotation)
            if value is not None:
                result.constants[name] = _value(value)
        case ast.AnnAssign(target=ast.Subscript(slice=key), annotation=annotation):
            result.attributes[literal(key)] = type_of(annotation)
        case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
            result.attributes[literal(key)] = type_of(value)
        case ast.Assign(targets=[ast.Name(id="__parameters__")], value=ast.List(elts=items)):
            result.parameters = tuple(map(literal, items))
        case ast.Assign(targets=[ast.Name(id="__buffers__")], value=ast.List(elts=items)):
            result.buffers = tuple(map(literal, items))
        case ast.Assign(targets=[ast.Name(id="__forward_pre_hooks__")], value=ast.List(elts=items)):
            result.pre_hooks = tuple(map(literal, items))
        case ast.Assign(targets=[ast.Name(id="__forward_hooks__")], value=ast.List(elts=items)):
            result.hooks = tuple(map(literal, items))
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if result.kind == "enum":
            result.members[name] = _value(value)
        case ast.Assign(targets=[ast.Name()]) | ast.Pass():
            pass  # the versions of older archives
        case _:
            raise RuntimeError(f"{result.name}: line {statement.lineno} declares nothing that a class has")


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise RuntimeError(f"line {node.lineno}: expected a constant") from error


def _check_names(result: Declaration) -> None:
    for name in (*result.attributes, *result.members):
        collides = result.kind == "module" and name in _MODULE_NAMES
        if (name.startswith("__") and name not in _PLAIN_NAMES) or collides:
            raise RuntimeError(f"{result.name}: an attribute may not be called {name!r}")
    missing = [n for n in (*result.parameters, *result.buffers) if n not in result.attributes]
    if missing:
        raise RuntimeError(f"{result.name}: {missing[0]!r} is a parameter or buffer without a type")


def make_tuple(declaration: Declaration) -> type:
    """Returns the class of a named tuple.

    Raises:
        RuntimeError: a name can't be that of a field.
    """
    try:
        return namedtuple(declaration.name.rpartition(".")[2], list(declaration.attributes))
    except ValueError as error:
        raise RuntimeError(f"{declaration.name}: {error}") from error


def make_enum(declaration: Declaration) -> type:
    """Returns the class of an enumeration."""
    make: Any = enum.Enum  # the call with names makes a class
    try:
        return cast(type, make(declaration.name.rpartition(".")[2], declaration.members))
    except (ValueError, TypeError) as error:
        raise RuntimeError(f"{declaration.name}: {error}") from error

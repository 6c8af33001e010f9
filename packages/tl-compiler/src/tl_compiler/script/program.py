"""The classes and functions of an archive, compiled to Python when they are first needed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from .archive import Archive
from .classes import Declaration, Record, declare, make_enum, make_tuple
from .lowering import lower
from .script_module import RecursiveScriptModule
from .types import Type

__all__ = ["Program"]

Function = Callable[..., Any]

# Methods of a record that Python calls for an operator.
_OPERATOR_METHODS = frozenset(
    [
        "__init__",
        "__len__",
        "__contains__",
        "__getitem__",
        "__setitem__",
        "__delitem__",
        "__call__",
        "__add__",
        "__sub__",
        "__mul__",
        "__truediv__",
        "__floordiv__",
        "__mod__",
        "__pow__",
        "__matmul__",
        "__neg__",
        "__and__",
        "__or__",
        "__xor__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__abs__",
        "__bool__",
        "__int__",
        "__float__",
        "__str__",
    ]
)


class Program:
    """The program of an archive.

    Args:
        archive: the archive.

    Attributes:
        constants: the values that the code calls `CONSTANTS.c0`, `CONSTANTS.c1`, ….
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.constants: Sequence[Any] = ()
        self.classes: dict[str, type] = {}
        self._declarations: dict[str, Declaration | None] = {}
        self._functions: dict[str, Function] = {}
        self._open: set[str] = set()

    # ---- classes
    def declaration(self, name: str) -> Declaration | None:
        """Returns the declaration of a class, or None if the archive declares none."""
        if name not in self._declarations:
            node = self.archive.definition(name)
            self._declarations[name] = declare(name, node) if isinstance(node, ast.ClassDef) else None
        return self._declarations[name]

    def class_of(self, name: str) -> type:
        """Returns the Python class of a class of the archive.

        Raises:
            RuntimeError: the archive declares no such class.
        """
        if name not in self.classes:
            declaration = self.declaration(name)
            if declaration is None:
                raise RuntimeError(f"Unknown type name '{name}': the archive declares no such class")
            self.classes[name] = self._make(declaration)
        return self.classes[name]

    def _make(self, declaration: Declaration) -> type:
        if declaration.kind == "tuple":
            return make_tuple(declaration)
        if declaration.kind == "enum":
            return make_enum(declaration)
        base = RecursiveScriptModule if declaration.kind == "module" else Record
        own = base.__name__ if base is RecursiveScriptModule else declaration.name.rpartition(".")[2]
        body = {
            "__module__": declaration.name.rpartition(".")[0],
            "_declaration": declaration,
            "_program": self,
        }
        return type(own, (base,), {**body, **self._public_methods(declaration, base)})

    def _public_methods(self, declaration: Declaration, base: type) -> dict[str, Any]:
        methods: dict[str, Any] = {}
        for name in declaration.methods:
            is_operator = declaration.kind == "record" and name in _OPERATOR_METHODS
            if name == "forward" or is_operator or not (name.startswith("__") or hasattr(base, name)):
                methods[name] = _LazyMethod(self, declaration.name, name)
        return methods

    def holder(self, declaration: Declaration, name: str) -> str:
        """Returns the dictionary of a module that holds an attribute, such as "_buffers", or "" for the module."""
        if declaration.kind != "module":
            return ""
        if name in declaration.parameters:
            return "_parameters"
        if name in declaration.buffers:
            return "_buffers"
        kind = self.declaration(declaration.attributes[name].inner.name)
        return "_modules" if kind is not None and kind.kind.startswith("module") else ""

    # ---- functions
    def function(self, name: str) -> Function:
        """Returns the compiled function of a dotted name.

        Raises:
            RuntimeError: the archive has no such function.
        """
        node = self.archive.definition(name)
        if not isinstance(node, ast.FunctionDef):
            raise RuntimeError(f"the archive has no function {name}")
        return self._compile(name, node, None)

    def method(self, class_name: str, name: str) -> Function:
        """Returns the compiled method of a class.

        Raises:
            RuntimeError: the class has no such method.
        """
        declaration = self.declaration(class_name)
        if declaration is None or name not in declaration.methods:
            raise RuntimeError(f"{class_name} has no method {name}")
        return self._compile(f"{class_name}.{name}", declaration.methods[name], Type(class_name))

    def method_text(self, class_name: str, name: str) -> tuple[str, str]:
        """Returns the code of a method: the lines of its signature, and those of its body."""
        declaration = self.declaration(class_name)
        assert declaration is not None
        return self.archive.text_of(class_name.rpartition(".")[0], declaration.methods[name])

    def definition_of(self, name: str) -> ast.FunctionDef | None:
        """Returns the definition of a function or method of a dotted name, or None if the archive has none."""
        node = self.archive.definition(name)
        if node is None:
            owner, _, own = name.rpartition(".")
            declaration = self.declaration(owner)
            return declaration.methods.get(own) if declaration else None
        return node if isinstance(node, ast.FunctionDef) else None

    def _compile(self, name: str, node: ast.FunctionDef, owner: Type | None) -> Function:
        if name not in self._functions:
            if name in self._open:
                raise RuntimeError(
                    f"function '{name}' is called recursively. Recursive calls are not supported"
                )
            self._open.add(name)
            try:
                self._functions[name] = lower(self, name, node, owner)
            finally:
                self._open.discard(name)
        return self._functions[name]


class _LazyMethod:
    """A method of a class of an archive, which is compiled when it is first called."""

    def __init__(self, program: Program, owner: str, name: str) -> None:
        self._program, self._owner, self._name = program, owner, name

    def __get__(self, instance: Any, owner: type) -> Any:
        function = self._program.method(self._owner, self._name)
        setattr(owner, self._name, function)
        return function if instance is None else function.__get__(instance, owner)

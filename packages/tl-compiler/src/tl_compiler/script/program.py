"""The classes and functions of an archive, compiled to Python when they are first needed."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

from .call_arguments import check_call, needs_check
from .classes import Declaration, Record, declare, make_enum, make_tuple
from .graph_text import Graph
from .lowering import lower
from .printing import definition_text
from .script_module import RecursiveScriptModule, container_methods
from .types import Type, type_of

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
        archive: the `Archive`, or the `Sources` of a program that tl wrote.

    Args:
        constants: the values that the code calls `CONSTANTS.c0`, `CONSTANTS.c1`, ….
        origins: for a definition that another program wrote, that program and the name there.
        absorbed: the names of such definitions, by the id of the other program and the name there.
        python_functions: functions that stay Python, by the name that the code calls them.
        python_classes: the classes of Python that classes of the code were compiled from.
        has_new_code: whether source is compiled to the program, so that its version is the latest.
        is_frozen: whether its graphs show the operators of called functions in the place of calls.
        bases: the classes in Python of modules, where they aren't `RecursiveScriptModule`.
    """

    def __init__(self, archive: Any) -> None:
        self.archive = archive
        self.constants: Sequence[Any] = ()
        self.origins: dict[str, tuple[Program, str]] = {}
        self.absorbed: dict[tuple[int, str], str] = {}
        self.python_functions: dict[str, Function] = {}
        self.python_classes: dict[str, type] = {}
        self.has_new_code = self.is_frozen = False
        self.bases: dict[str, type] = {}
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

    def name_of(self, kind: type) -> str:
        """Returns the name of a class of the archive.

        Raises:
            RuntimeError: the archive has no such class.
        """
        for name, other in self.classes.items():
            if other is kind:
                return name
        raise RuntimeError(f"an archive can't hold an object of {kind.__name__!r}")

    def _make(self, declaration: Declaration) -> type:
        if declaration.kind in ("tuple", "enum"):
            kind: Any = (make_tuple if declaration.kind == "tuple" else make_enum)(declaration)
            kind._declaration, kind._program = declaration, self
            return cast(type, kind)
        is_module = declaration.kind == "module"
        base = self.bases.get(declaration.name, RecursiveScriptModule) if is_module else Record
        own = base.__name__ if is_module else declaration.name.rpartition(".")[2]
        body: dict[str, Any] = {
            "__module__": declaration.name.rpartition(".")[0],
            "_declaration": declaration,
            "_program": self,
        }
        if is_module and declaration.name.startswith("__torch__.torch.nn.modules.container."):
            body.update(container_methods(declaration.name.rpartition(".")[2]))
        return type(
            own,
            (base,),
            {
                **declaration.constants,
                **body,
                **self._public_methods(declaration, RecursiveScriptModule if is_module else base),
            },
        )

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

    # ---- constants
    def constant_name(self, value: Any) -> str:
        """Returns the name of a constant, which the program stores if it has none like it."""
        for index, previous in enumerate(self.constants):
            if previous is value:
                return f"CONSTANTS.c{index}"
        self.constants = [*self.constants, value]
        return f"CONSTANTS.c{len(self.constants) - 1}"

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
        node = declaration.methods[name]
        text: tuple[str, str] | None = self.archive.text_of(class_name.rpartition(".")[0], node)
        if text is None:
            lines = definition_text(node).splitlines(keepends=True)
            head = len(node.args.args) or 1
            text = "".join(lines[:head]), "".join(lines[head:]).rstrip("\n")
        return text

    def definition_of(self, name: str) -> ast.FunctionDef | None:
        """Returns the definition of a function or method of a dotted name, or None if the archive has none."""
        node = self.archive.definition(name)
        if node is None:
            owner, _, own = name.rpartition(".")
            declaration = self.declaration(owner)
            return declaration.methods.get(own) if declaration else None
        return node if isinstance(node, ast.FunctionDef) else None

    def result_type(self, name: str) -> Type | None:
        """Returns the type that a function or method states for its result, or None if it states none."""
        definition = self.definition_of(name)
        return None if definition is None or definition.returns is None else type_of(definition.returns)

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
        function: Any = self._program.method(self._owner, self._name)
        declaration = self._program.declaration(self._owner)
        if declaration is not None and declaration.kind == "module":
            node = declaration.methods[self._name]
            if needs_check(node, 1):
                function = functools.wraps(function)(check_call(function, node, self._program, skip=1))
            function.graph = Graph(self._program, node, Type(self._owner), self._program.is_frozen)
        setattr(owner, self._name, function)
        return function if instance is None else function.__get__(instance, owner)

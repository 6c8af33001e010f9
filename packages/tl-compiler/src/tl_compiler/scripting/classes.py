"""Classes of Python in a program: records, named tuples, enumerations and interfaces."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import typing
from typing import Any

import tl_core
import tl_nn
from tl_core.extensions.custom_classes import ScriptObject

from ..jit.decorations import FunctionModifiers
from ..jit.frontend import FrontendError
from ..jit.internal import get_torchscript_modifier
from ..script.linking import absorb
from ..script.printing import constant_text
from ..script.sources import program_name
from ..script.types import Type
from .annotations import UnknownType, type_of_annotation
from .dataclass_code import dataclass_source, is_generated
from .function_compiler import FunctionCompiler
from .names import SETTER
from .operands import Operand, Value
from .operator_types import NONE, accepts
from .registered_classes import signature_of_method
from .signatures import Signature, signature_of
from .source import source_of

__all__ = ["ClassCompiler"]


class ClassCompiler:
    """The part of a session that compiles classes."""

    def _start_classes(self: Any) -> None:
        self._class_names: dict[type, str] = {}
        self._python_classes: dict[str, type] = {}
        self._method_signatures: dict[tuple[str, str], Signature | None] = {}
        self._open_methods: set[tuple[str, str]] = set()
        self._classes_of_objects: dict[type, bool] = {}

    def python_class(self: Any, name: str) -> type | None:
        """The class of Python that a class of the program was compiled from, or None."""
        return self._python_classes.get(name)

    def class_name(self: Any, kind: type) -> str:
        """The dotted name of a class, which the program declares now.

        Raises:
            UnknownType: the class can't be one of a program.
        """
        previous = self._class_names.get(kind)
        if previous is not None:
            return previous
        if issubclass(kind, ScriptObject):
            return kind._qualified_name
        declaration = vars(kind).get("_declaration")
        if declaration is not None:
            return absorb(self.program, kind._program, declaration.name)  # type: ignore[attr-defined]  # a class of a program
        if kind.__module__ == "builtins" or (issubclass(kind, tl_nn.Module) and not _is_interface(kind)):
            raise UnknownType(f"Unknown type annotation: '{kind.__name__}' is no type of TorchScript")
        name = self.free_name(program_name(kind))
        self._class_names[kind] = name
        self._python_classes[name] = self.program.python_classes[name] = kind
        self.caller_names.setdefault(
            kind.__name__, kind
        )  # its own code names it, perhaps before it is assigned
        own = name.rpartition(".")[2]
        try:
            self._declare_class(kind, name, own)
        except BaseException:
            del self._class_names[kind]
            raise
        return name

    def class_of_object(self: Any, kind: type) -> str | None:
        """The dotted name of the class of an object that a module holds, if all methods of the class compile."""
        if kind in self._class_names:
            return self._class_names[kind]
        if kind not in self._classes_of_objects:
            self._classes_of_objects[kind] = _is_plain_class(kind) and self._compiles(kind)
        return self.class_name(kind) if self._classes_of_objects[kind] else None

    def _compiles(self: Any, kind: type) -> bool:
        """Whether a class compiles, tried in a session of its own."""
        try:
            type(self)(dict(self.caller_names)).compile_class(kind)
        except (
            RuntimeError,
            OSError,
            FrontendError,
        ):  # the reason counts only where a program reads the object
            return False
        return True

    def check_object(self: Any, value: Any, kind: Type) -> None:
        """Checks the attributes of an object of Python that a module holds.

        Raises:
            RuntimeError: an attribute is of another type than the class states.
        """
        declaration = self.program.declaration(kind.name) if kind.name in self._python_classes else None
        if declaration is None or declaration.kind != "record" or hasattr(type(value), "_declaration"):
            return
        self.fill_attributes(kind)
        for name, stated in declaration.attributes.items():
            own = self.value_type(getattr(value, name, None))
            if not accepts(stated, own):
                raise RuntimeError(
                    f"Could not cast attribute '{name}' to type {stated}: the object of {type(value).__name__} has a "
                    f"value of type {own}"
                )

    def share_classes(self: Any, program: Any) -> None:
        """Lets definitions that come from another program use the classes that this one has declared already."""
        for name, kind in program.python_classes.items():
            own = self._class_names.get(kind)
            if own is None or program is self.program:
                continue
            self.program.absorbed[id(program), name] = own
            for method in program.declaration(name).methods:
                self.method_signature(Type(own), method)

    def know_classes(self: Any, program: Any) -> None:
        """Notes the classes that came with definitions of another program."""
        for name, kind in program.python_classes.items():
            own = self.program.absorbed.get((id(program), name))
            if own is not None and kind not in self._class_names:
                self._class_names[kind] = own
                self._python_classes[own] = self.program.python_classes[own] = kind
                for method, node in self.program.declaration(own).methods.items():
                    self._method_signatures[own, method] = signature_of(node, method, skip=1)

    def _declare_class(self: Any, kind: type, name: str, own: str) -> None:
        if issubclass(kind, enum.Enum):
            values = {type(m.value) for m in kind}
            for value in values - {int, float, str}:
                word = "Tensor" if issubclass(value, tl_core.Tensor) else value.__name__
                raise RuntimeError(f"Cannot create Enum with value type '{word}'")
            if len(values) > 1:
                shown = ", ".join(sorted(v.__name__ for v in values))
                raise RuntimeError(f"Could not unify type list of the values of {kind.__name__}: {shown}")
            members = "".join(f"  {m.name} = {constant_text(m.value)}\n" for m in kind)
            self.program.archive.add(name, f"class {own}(Enum):\n{members}")
            self.program.classes[name] = kind
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            hints = typing.get_type_hints(kind)
            fields = [
                (f, type_of_annotation(hints[f], self) if f in hints else Type("Tensor"))
                for f in kind._fields
            ]
            lines = "".join(f"  {f} : {t}\n" for f, t in fields)
            self.program.archive.add(name, f"class {own}(NamedTuple):\n{lines}")
            self.program.classes[name] = kind
        elif _is_interface(kind):
            base = "ModuleInterface" if issubclass(kind, tl_nn.Module) else "Interface"
            self.program.archive.add(name, f"class {own}({base}):\n  pass\n")
            self._interface_methods(kind, name)
        else:
            if kind.__mro__[1:-1]:
                raise UnknownType(
                    f"Unknown type annotation: '{kind.__name__}': TorchScript classes does not support inheritance"
                )
            self.program.archive.add(name, f"class {own}:\n  pass\n")
            self._stated_attributes(kind, name)

    def _stated_attributes(self: Any, kind: type, name: str) -> None:
        for attribute, annotation in typing.get_type_hints(kind, localns=dict(self.caller_names)).items():
            if attribute in vars(kind) and not _assigns(kind, attribute):
                continue  # a class attribute, which programs lack
            self.add_attribute(name, attribute, type_of_annotation(annotation, self))

    def add_attribute(self: Any, name: str, attribute: str, kind: Type) -> None:
        """Declares an attribute of a class."""
        declaration = self.program.declaration(name)
        declaration.attributes[attribute] = kind
        node = self.program.archive.definition(name)
        stated = ast.parse(f"{attribute} : {kind}").body[0]
        at = sum(isinstance(s, ast.AnnAssign) for s in node.body)
        node.body.insert(at, stated)
        node.body[:] = [s for s in node.body if not isinstance(s, ast.Pass)]

    def _interface_methods(self: Any, kind: type, name: str) -> None:
        for method, function in vars(kind).items():
            if inspect.isfunction(function):
                compiler = FunctionCompiler(self, source_of(function), Value("self", Type(name)), method)
                signature = Signature(method, compiler.arguments(compiler.source.node, None),
                                      compiler.annotation(compiler.source.node.returns) or NONE)  # fmt: skip
                self._method_signatures[name, method] = signature
                compiler.emit("  pass")
                self._store_method(name, method, compiler.text(signature))

    def _store_method(self: Any, name: str, method: str, text: str) -> None:
        node = self.program.archive.add_method(name, text)
        self.program.declaration(name).methods[method] = node

    def fill_attributes(self: Any, kind: Type) -> None:
        """Compiles the constructor of a class, which declares the attributes, unless that happens or has happened."""
        is_filled = (kind.name, "__init__") in self._method_signatures or (
            kind.name,
            "__init__",
        ) in self._open_methods
        if not is_filled:
            self.method_signature(kind, "__init__")

    # ---- methods of objects
    def method_signature(self: Any, kind: Type, name: str) -> Signature | None:
        """The signature of a method of a class of the program, which is compiled now; None if there is none."""
        if not kind.name.startswith("__torch__.") or name == "____":
            return None
        previous = self._method_signatures.get((kind.name, name))
        if previous is not None:
            return previous
        python = self._python_classes.get(kind.name)
        if python is None:
            return self._method_of_program(kind.name, name) or signature_of_method(kind.name, name, self)
        function = inspect.getattr_static(python, name, None)
        if isinstance(function, property):
            function = function.fget
        elif isinstance(function, classmethod):
            function = function.__func__
        elif name.endswith(SETTER):
            function = getattr(inspect.getattr_static(python, name.removesuffix(SETTER), None), "fset", None)
        if not inspect.isfunction(function) or hasattr(python, "_fields"):
            return None
        return self._compile_method(kind.name, name, function)

    def _method_of_program(self: Any, owner: str, name: str) -> Signature | None:
        declaration = self.program.declaration(owner)
        node = declaration.methods.get(name) if declaration is not None else None
        return None if node is None else signature_of(node, name, skip=1)

    def _compile_method(self: Any, owner: str, name: str, function: Any) -> Signature:
        if (owner, name) in self._open_methods:
            raise RuntimeError(f"function '{name}' is called recursively. Recursive calls are not supported")
        modifier = get_torchscript_modifier(function)
        if modifier in (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE):
            return self._python_method_of(owner, name, function, modifier)
        self._open_methods.add((owner, name))
        try:
            source = dataclass_source(self._python_classes.get(owner, object), name) or source_of(function)
            text, signature = FunctionCompiler(self, source, Value("self", Type(owner)), name).compile()
        finally:
            self._open_methods.discard((owner, name))
        self._store_method(owner, name, text)
        self._method_signatures[owner, name] = signature
        return signature

    def _python_method_of(self: Any, owner: str, name: str, function: Any, modifier: str) -> Signature:
        """A method that stays Python: a call raises, as objects of programs have no methods of Python."""
        if modifier == FunctionModifiers.IGNORE:
            raise RuntimeError(
                f"the method {name} of {owner} is marked to stay Python, and the program calls it"
            )
        compiler = FunctionCompiler(self, source_of(function), Value("self", Type(owner)), name)
        signature = self.declared_signature(function, compiler, compiler.source.node, 1, Type("Any"))
        compiler.depth = 1
        compiler.fail('"Cannot call @unused methods"', "builtins.RuntimeError")
        self._store_method(owner, name, compiler.text(signature))
        self._method_signatures[owner, name] = signature
        return signature

    def constructor(self: Any, kind: type, compiler: Any, node: ast.AST) -> Signature:
        """The signature of the call that makes an object of a class."""
        name = self.class_name(kind)
        declaration = self.program.declaration(name)
        if declaration is not None and declaration.kind == "tuple":
            defaults = getattr(kind, "_field_defaults", {})
            fields = [
                (f, t, self.constant(defaults[f]) if f in defaults else None)
                for f, t in declaration.attributes.items()
            ]
            return Signature(declaration.name.rpartition(".")[2], fields, Type(name))
        signature = self.method_signature(Type(name), "__init__")
        if signature is None:
            if declaration is not None:
                self.compile_class(kind)  # an error in a method is more telling
            raise compiler.error(node, f"Class {kind.__name__} does not have an __init__ function defined")
        return signature

    def compile_class(self: Any, kind: type) -> str:
        """Compiles a class with all its methods, and returns its dotted name."""
        name = self.class_name(kind)
        if self.program.declaration(name).kind == "record":
            unused = vars(kind).get("__jit_unused_properties__", ())
            names = [
                n
                for n, f in vars(kind).items()
                if (inspect.isfunction(f) and not _is_left_out(kind, n))
                or (isinstance(f, property) and n not in unused)
            ]
            for method in sorted(names, key=lambda n: n != "__init__"):
                function = vars(kind)[method]
                function = function.fget if isinstance(function, property) else function
                if get_torchscript_modifier(function) == FunctionModifiers.DEFAULT and method != "__repr__":
                    self.method_signature(Type(name), method)
        return name

    def record_attribute(
        self: Any, kind: Type, name: str, compiler: Any, operand: Operand, node: ast.AST
    ) -> Type | None:
        """The type of an attribute that is set; in `__init__`, the attribute is declared."""
        if not kind.name.startswith("__torch__."):
            return None
        declaration = self.program.declaration(kind.name)
        if declaration is not None and declaration.kind == "record":
            self.fill_attributes(kind)
        if declaration is not None and name in declaration.attributes:
            return declaration.attributes[name]
        setter = self.method_signature(kind, f"{name}{SETTER}")
        if setter is not None:
            return setter.arguments[0][1]
        if declaration is None or compiler.name != "__init__" or declaration.kind != "record":
            raise compiler.error(
                node,
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?",
            )
        if compiler.nesting > 1 or compiler.conditions:
            raise compiler.error(
                node, f"attribute {name} is new: its first assignment cannot be in a control-flow block"
            )
        value = compiler.as_value(operand, node)
        self.add_attribute(kind.name, name, value.type)
        return value.type


def _is_left_out(kind: type, name: str) -> bool:
    """Whether a method is one that `dataclass` wrote and programs lack, such as `__setattr__` of a frozen class."""
    return is_generated(vars(kind)[name]) and dataclass_source(kind, name) is None


def _is_interface(kind: type) -> bool:
    return "__torch_script_interface__" in vars(kind)


def _assigns(kind: type, name: str) -> bool:
    """Whether the constructor of a class assigns an attribute."""
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    return code is not None and name in code.co_names


def _is_plain_class(kind: type) -> bool:
    """Whether a class is one of Python whose methods have source."""
    built_in = (tl_nn.Module, tl_core.Tensor, tuple, list, dict, BaseException, type)
    if issubclass(kind, built_in) or get_torchscript_modifier(kind) == FunctionModifiers.IGNORE:
        return False
    routines = [f for f in map(functools.partial(getattr, kind), vars(kind)) if inspect.isroutine(f)]
    return kind.__mro__[1:] == (object,) and all(hasattr(f, "__code__") for f in routines)

"""Attributes of operands: those of modules, of values by their type, and of modules of Python."""

from __future__ import annotations

import ast
import enum
import inspect
from typing import Any

import tl_core
import tl_nn
from tl_core.extensions.custom_classes import ScriptObject, method_of

from ..jit import decorations
from ..script.types import Type
from ..script.values import TENSOR_ATTRIBUTES
from .names import is_module, tensor_method
from .operands import Bound, ModuleValue, Operand, PythonValue, Value
from .operator_types import BOOL, INT, STR, TENSOR, list_of, prim_result

__all__ = ["AttributeReader"]


_ROOMS = {"jit": decorations, "nn": tl_nn}


class AttributeReader:
    """The part of a session that reads attributes."""

    def attribute(self: Any, compiler: Any, owner: Operand, name: str, node: ast.AST) -> Operand | None:
        """An attribute of an operand, or None if it has none of this name."""
        if isinstance(owner, ModuleValue):
            return self.module_attribute(compiler, owner, name, node)
        if isinstance(owner, PythonValue):
            return self._of_python(owner, name, compiler, node)
        if isinstance(owner, Value):
            return self._of_value(compiler, owner, name, node)
        return None

    def _of_python(self: Any, owner: PythonValue, name: str, compiler: Any, node: ast.AST) -> Operand | None:
        value = owner.value
        if isinstance(value, (enum.Enum, tl_core.device)):
            return self._of_value(compiler, self.constant(value), name, node)
        if isinstance(value, str):
            return Bound(self.constant(value), name)
        if inspect.isclass(value) and issubclass(value, ScriptObject):
            method = method_of(value._qualified_name, name)
            return PythonValue(method, name) if method is not None and method.is_static else None
        try:
            match = getattr(value, name)
        except AttributeError:
            if value is tl_core and name in _ROOMS:  # `torch` in a text is the core
                return PythonValue(_ROOMS[name], name)
            if inspect.isclass(value):
                raise compiler.error(node, f"'{value.__name__}' has no attribute '{name}'") from None
            if is_module(value):
                raise compiler.error(
                    node, f"module '{getattr(value, '__name__', value)}' has no attribute '{name}'"
                ) from None
            return None
        return PythonValue(match, f"{owner.name}.{name}" if owner.name else name)

    def _of_value(self: Any, compiler: Any, owner: Value, name: str, node: ast.AST) -> Operand | None:
        kind = owner.type
        if kind == TENSOR:
            return self._of_tensor(owner, name)
        if kind.name == "Device" and name in ("type", "index"):
            return Value(
                f"ops.prim.{name}({owner.text})", STR if name == "type" else Type("Optional", (INT,))
            )
        if kind.name in ("int", "float", "bool", "complex"):
            return self._of_number(owner, name)
        declaration = self.program.declaration(kind.name) if kind.name.startswith("__torch__.") else None
        if declaration is not None:
            return self._of_object(compiler, owner, declaration, name, node)
        if kind.name.startswith("__torch__."):
            return self._of_registered(compiler, owner, name, node)
        if kind.name in ("List", "Dict", "str", "Future"):
            return Bound(owner, name)
        if name in kind.fields:
            index = kind.fields.index(name)
            return Value(f"({owner.text})[{index}]", kind.arguments[index])
        if kind.name in ("Optional", "Union"):
            raise compiler.error(
                node,
                f"'{kind}' object has no attribute or method '{name}'. Did you forget to check that it "
                "is not None?"
                if kind.name == "Optional"
                else f"'{kind}' object has no attribute or method '{name}'",
            )
        return None

    def _of_registered(self: Any, compiler: Any, owner: Value, name: str, node: ast.AST) -> Operand | None:
        """An attribute or a method of an object whose class an extension registered."""
        if self.method_signature(owner.type, f"{name}_getter") is not None:
            return compiler.invoke_method(owner, f"{name}_getter", [], {}, node)
        return Bound(owner, name) if self.method_signature(owner.type, name) is not None else None

    def _of_tensor(self: Any, owner: Value, name: str) -> Operand | None:
        if name == "shape":
            return Value(f"torch.size({owner.text})", list_of(INT))
        if name in TENSOR_ATTRIBUTES:
            kind = BOOL if name.startswith("is_") else prim_result(name, [TENSOR])
            return Value(f"ops.prim.{name}({owner.text})", kind)
        return Bound(owner, name) if tensor_method(name) or name in ("tolist", "numpy") else None

    def _of_number(self: Any, owner: Value, name: str) -> Operand | None:
        if owner.type.name == "complex" and name in ("real", "imag"):
            return Value(f"ops.prim.{name}({owner.text})", Type("float"))
        return None

    def _of_object(
        self: Any, compiler: Any, owner: Value, declaration: Any, name: str, node: ast.AST
    ) -> Operand | None:
        if declaration.kind == "enum" and name in ("name", "value"):
            if owner.is_known:
                return self.constant(getattr(owner.constant, name))
            kinds = {type(v) for v in declaration.members.values()}
            kind = STR if name == "name" else Type(kinds.pop().__name__ if len(kinds) == 1 else "Any")
            return Value(f"({owner.text}).{name}", kind)
        if declaration.kind == "record":
            self.fill_attributes(owner.type)
        kind = declaration.attributes.get(name)
        if kind is not None:
            text = owner.text if owner.text.replace(".", "_").isidentifier() else f"({owner.text})"
            return Value(f"{text}.{name}", kind)
        python = self.python_class(declaration.name)
        static = inspect.getattr_static(python, name, None) if python is not None else None
        if isinstance(static, property):
            return compiler.invoke_method(owner, name, [], {}, node)
        if isinstance(static, staticmethod):
            return PythonValue(static.__func__, name)
        if isinstance(static, classmethod):
            return PythonValue(getattr(python, name), name)
        if static is None and name not in declaration.methods:
            raise compiler.error(
                node,
                f"'{owner.type}' object has no attribute or method '{name}'. Did you forget to initialize an "
                "attribute in __init__()?",
            )
        if static is not None and not inspect.isroutine(static):
            raise compiler.error(
                node,
                f"'{owner.type}' object has no attribute or method '{name}'. '{name}' is defined as a class "
                "attribute. Class attributes aren't supported: initialize it in __init__()",
            )
        return Bound(owner, name)

    def has_attribute(self: Any, compiler: Any, owner: Operand, name: str) -> bool:
        """Whether an operand has an attribute."""
        if isinstance(owner, ModuleValue):
            return self.module_has(owner, name)
        if isinstance(owner, PythonValue):
            return hasattr(owner.value, name)
        if isinstance(owner, Value):
            declaration = (
                self.program.declaration(owner.type.name)
                if owner.type.name.startswith("__torch__.")
                else None
            )
            if declaration is not None:
                return name in declaration.attributes or self.method_signature(owner.type, name) is not None
            try:
                return self._of_value(compiler, owner, name, ast.Pass()) is not None
            except RuntimeError:
                return False
        return False

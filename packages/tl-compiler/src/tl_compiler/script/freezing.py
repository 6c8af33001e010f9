"""Frozen modules: the tensors and numbers of a module become constants of its code, and known branches are selected."""

from __future__ import annotations

import ast
import copy
from typing import Any

import tl_nn
from tl_core import Tensor

from .linking import absorb, rename_in
from .printing import constant_text, definition_text
from .program import Program
from .script_module import RecursiveScriptModule
from .sources import Sources, fresh_name
from .syntax import dotted_name, literal
from .types import Type

__all__ = ["freeze_module", "operator_names"]

_SIMPLE = (bool, int, float, str, type(None))


def freeze_module(module: Any, preserved: tuple[str, ...]) -> Any:
    """Returns the frozen form of a module.

    Args:
        module: the module.
        preserved: the names of attributes and methods that stay.

    Raises:
        RuntimeError: the module has no attribute of such a name.
    """
    declaration = module._declaration
    for name in preserved:
        if name not in declaration.attributes and name not in declaration.methods:
            raise RuntimeError(f"Unknown name: {name}")
    methods = ("forward", *(n for n in preserved if n in declaration.methods))
    return _Freezer(preserved).freeze(module, methods)


class _Freezer:
    """Copies the classes of a module and its parts: one for each, as their constants differ.

    Args:
        preserved: the names of attributes that stay.
    """

    def __init__(self, preserved: tuple[str, ...]) -> None:
        self.program = Program(Sources())
        self.preserved = preserved
        self.written: set[tuple[int, str]] = set()  # the attributes that a method of an object sets
        self._done: dict[int, Any] = {}

    def freeze(self, module: Any, methods: tuple[str, ...] | None = None) -> Any:
        """Returns the frozen form of a module.

        Args:
            module: the module.
            methods: of the outermost module, the methods whose names begin with two underscores that it keeps.
        """
        if id(module) in self._done:
            return self._done[id(module)]
        declaration = module._declaration
        name = declaration.name
        if self.program.archive.definition(name) is not None:
            name = fresh_name(name)
        result = self._copy(module)
        self._done[id(module)] = result
        set_here = _set_names(declaration.methods.values())
        names_left = [n for n in declaration.attributes if self._stays(module, n, set_here)]
        own = name.rpartition(".")[2]
        lines = [f"class {own}(Module):"]
        for table in ("_parameters", "_buffers"):
            listed = "".join(f"{n!r}, " for n in names_left if n in vars(module)[table])
            lines.append(f"  _{table}__ = [{listed}]")
        lines += ["  training : bool", "  _is_full_backward_hook : Optional[bool]"]
        for attribute in names_left:
            if attribute not in ("training", "_is_full_backward_hook"):
                lines.append(_line(attribute, self._type(module, attribute)))
        self.program.archive.add(name, "\n".join(lines) + "\n")
        for method, node in declaration.methods.items():
            if methods is None or method in methods or not method.startswith("__"):
                self._method(module, name, method, node, names_left)
        result.__class__ = self.program.class_of(name)
        return result

    def _copy(self, module: Any) -> Any:
        result: Any = object.__new__(RecursiveScriptModule)
        tl_nn.Module.__init__(result)
        vars(result).update(training=False, _is_full_backward_hook=None)
        declaration = module._declaration
        set_here = _set_names(declaration.methods.values())
        for attribute in declaration.attributes:
            if not self._stays(module, attribute, set_here) or attribute == "training":
                continue
            for table in ("_parameters", "_buffers"):
                if attribute in vars(module)[table]:
                    vars(result)[table][attribute] = vars(module)[table][attribute]
            if attribute in module._modules:
                result._modules[attribute] = self.freeze(module._modules[attribute])
            elif attribute in vars(module):
                vars(result)[attribute] = vars(module)[attribute]
        return result

    def _stays(self, module: Any, name: str, set_here: set[str]) -> bool:
        if name in self.preserved or name in set_here or module._modules.get(name) is not None:
            return True
        value = getattr(module, name, None)
        return not isinstance(value, (Tensor, *_SIMPLE)) or name in ("training", "_is_full_backward_hook")

    def _type(self, module: Any, name: str) -> str:
        part = module._modules.get(name)
        if part is not None:
            return str(type(self.freeze(part))._declaration.name)
        return str(self._rename_type(module._program, module._declaration.attributes[name]))

    def _rename_type(self, program: Any, kind: Type) -> Type:
        if kind.name.startswith("__torch__."):
            return Type(absorb(self.program, program, kind.name))
        return Type(kind.name, tuple(self._rename_type(program, a) for a in kind.arguments))

    def _method(
        self, module: Any, name: str, method: str, node: ast.FunctionDef, names_left: list[str]
    ) -> None:
        copied = copy.deepcopy(node)
        copied.args.args[0].annotation = ast.parse(name, mode="eval").body
        rename_in(self.program, module._program, copied, {name})
        _Constants(self, module, names_left, copied.args.args[0].arg).visit(copied)
        _select(copied.body)
        self.program.archive.add_method(name, definition_text(copied))


class _Constants(ast.NodeTransformer):
    """Replaces attributes of a module, and of its parts, by constants."""

    def __init__(self, freezer: _Freezer, module: Any, names_left: list[str], owner: str) -> None:
        self._freezer, self._module, self._kept, self._owner = freezer, module, names_left, owner
        self._aliases: dict[str, Any] = {owner: module}

    def visit_Assign(self, node: ast.Assign) -> Any:
        part = self._module_of(node.value)
        if part is not None and isinstance(node.targets[0], ast.Name):
            self._aliases[node.targets[0].id] = part
            return node
        node.value = self.visit(node.value)
        return node

    def _module_of(self, node: ast.AST) -> Any:
        """The module that an expression stands for, or None."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._module_of(node.value)
            return owner._modules.get(node.attr) if owner is not None else None
        if isinstance(node, ast.Call) and dotted_name(node.func) == "getattr":
            owner = self._module_of(node.args[0])
            return owner._modules.get(literal(node.args[1])) if owner is not None else None
        return None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self._module_of(node.value)
        if owner is not None and isinstance(node.ctx, ast.Load) and self._module_of(node) is None:
            constant = self._constant(owner, node.attr)
            if constant is not None:
                return constant
        self.generic_visit(node)
        return node

    def _constant(self, owner: Any, name: str) -> ast.expr | None:
        declaration = owner._declaration
        if name == "training":
            return ast.Constant(False)
        if name not in declaration.attributes or self._freezer._stays(
            owner, name, _set_names(declaration.methods.values())
        ):
            return None
        value = getattr(owner, name)
        if isinstance(value, Tensor):
            text = self._freezer.program.constant_name(value.detach())
        else:
            text = constant_text(value)
        return ast.parse(text, mode="eval").body


def _set_names(methods: Any) -> set[str]:
    """The names of the attributes that methods set."""
    return {
        node.attr
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def _condition_value(node: ast.expr) -> bool | None:
    """The value of a condition of constants, or None for another condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Call) and dotted_name(node.func) in ("torch.__is__", "torch.__isnot__"):
        first, second = node.args
        if isinstance(second, ast.Constant) and second.value is None and isinstance(first, ast.Constant):
            return (first.value is None) is (dotted_name(node.func) == "torch.__is__")
        return None
    if isinstance(node, ast.Call) and dotted_name(node.func) == "torch.__not__":
        inner = _condition_value(node.args[0])
        return None if inner is None else not inner
    if isinstance(node, ast.Call) and dotted_name(node.func) in ("torch.eq", "torch.ne"):
        values = [a.value for a in node.args if isinstance(a, ast.Constant)]
        return (
            (values[0] == values[1]) is (dotted_name(node.func) == "torch.eq") if len(values) == 2 else None
        )
    return None


def _select(body: list[ast.stmt]) -> None:
    """Replaces branches with a known condition by the selected branch."""
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.FunctionDef)):
            _select(statement.body)
        if isinstance(statement, ast.If):
            _select(statement.orelse)
            previous = _condition_value(statement.test)
            if previous is not None:
                result += statement.body if previous else statement.orelse
                continue
        result.append(statement)
    body[:] = result or [ast.Pass()]


def _line(name: str, kind: str) -> str:
    return f"  {name} : {kind}" if name.isidentifier() else f'  __annotations__["{name}"] = {kind}'


def operator_names(module: Any) -> list[str]:
    """Returns the names of the operators that the methods of a module and its parts call, in order.

    Args:
        module: the module.
    """
    program = Program(Sources())
    for part in module.modules():
        absorb(program, part._program, part._declaration.name)
    names = set()
    for definition in list(program.archive.names()):
        for node in ast.walk(program.archive.definition(definition)):
            name = dotted_name(node.func) if isinstance(node, ast.Call) else None
            if name and name.startswith("torch."):
                names.add(f"aten::{name.removeprefix('torch.')}")
            elif name and name.startswith("ops.") and name.count(".") == 2:
                names.add("::".join(name.split(".")[1:]))
    return sorted(names)

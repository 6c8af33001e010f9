"""Frozen modules: tensors, numbers and containers of a module become constants of its code.

Known branches are selected. A part of the module that has no attributes left becomes functions of the program.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import tl_nn
from tl_core import Parameter, Tensor

from .folding import fold_batch_norms
from .freeze_analysis import Analysis
from .linking import absorb, rename_in
from .printing import constant_text, definition_text
from .program import Program
from .script_module import RecursiveScriptModule
from .sources import Sources, fresh_name
from .syntax import dotted_name, literal
from .types import Type

__all__ = ["freeze_module", "operator_names"]

_SIMPLE = (bool, int, float, str, type(None))


def freeze_module(
    module: Any, preserved: tuple[str, ...] = (), keeps_parameters: bool = False, folds: bool = False
) -> Any:
    """Returns the frozen form of a module.

    Args:
        module: the module.
        preserved: the names of attributes and methods that stay, such as "scale" or "encoder.scale".
        keeps_parameters: whether parameters stay attributes.
        folds: whether batch normalization becomes part of the convolution before it, which rounds otherwise.

    Raises:
        RuntimeError: the module has no attribute of such a name, returns itself, or sets a module that an interface
            declares.
    """
    freezer = _Freezer(module, keeps_parameters, folds)
    entries = [(module, "forward")] if "forward" in module._declaration.methods else []
    for name in preserved:
        owner, _, own = name.rpartition(".")
        part = _part(module, owner)
        if part is None or (own not in part._declaration.attributes and own not in part._declaration.methods):
            raise RuntimeError(f"Unknown name: {name}")
        if own in part._declaration.methods:
            entries.append((part, own))
        freezer.preserve(part, own)
    return freezer.freeze(entries)


def _part(module: Any, path: str) -> Any:
    """The part of a module at a dotted path, or None if there is none."""
    for name in path.split(".") if path else ():
        module = module._modules.get(name) if module is not None else None
    return module


class _Freezer:
    """The freeze of one module.

    Args:
        root: the module.
        keeps_parameters: whether parameters stay attributes.
        folds: whether batch normalization becomes part of the convolution before it.
    """

    def __init__(self, root: Any, keeps_parameters: bool, folds: bool) -> None:
        self.root, self.keeps_parameters, self.folds = root, keeps_parameters or root.training, folds
        self.program = Program(Sources())
        self.program.is_frozen = True
        self.program.archive.version = root._program.archive.version
        self.preserved: set[tuple[int, str]] = set()
        self.facts = Analysis(root, self._select_branches)
        self.functions: dict[tuple[int, str], str] = {}  # the names of methods that become functions
        self._names: dict[int, str] = {}
        self._copies: dict[int, Any] = {}
        self._left: dict[int, bool] = {}

    def preserve(self, module: Any, name: str) -> None:
        """Keeps an attribute or method; a part is kept as a whole."""
        self.preserved.add((id(module), name))
        part = module._modules.get(name)
        if part is not None:
            self.facts.modules[id(part)] = part
            self.facts.keep_whole(frozenset({(id(part), "")}))

    def freeze(self, entries: list[tuple[Any, str]]) -> Any:
        """Returns the frozen module, whose methods are those that entry points call."""
        for module, name in entries:
            count = len(module._declaration.methods[name].args.args) - 1
            self.facts.call_method(module, name, [frozenset()] * count)
        self._share_memory()
        result = self._copy(self.root)
        trees = [
            self._tree(self.facts.modules[key], name, tree)
            for (key, name), tree in self.facts.methods.items()
            if key not in self.facts.values
        ]
        if self.folds:
            fold_batch_norms(self.program, [(tree, name) for _, name, tree in trees])
        for own, name, tree in trees:
            if own is not None:
                self.program.archive.add_method(own, definition_text(tree))
            else:
                self.program.archive.add(name, definition_text(tree))
        for key, own in self._names.items():
            if key not in self.facts.values:
                self._copies[key].__class__ = self.program.class_of(own)
        return result

    def _share_memory(self) -> None:
        """Marks attributes that share memory with one that is written."""
        memory: set[int] = set()
        for key, name in self.facts.writes:
            memory |= _memory(getattr(self.facts.modules[key], name, None))
        containers = [getattr(self.facts.modules[k], n, None) for k, n in self.facts.writes]
        nested = set().union(*(_memory(v) for v in containers if isinstance(v, (tuple, list, dict))))
        for key, name in self.facts.used:
            value = getattr(self.facts.modules[key], name, None)
            if (key, name) in self.facts.writes or not memory & _memory(value):
                continue
            if nested & _memory(value) and _tensors_in(value):
                raise RuntimeError("module contains attributes values that overlaps")
            self.facts.writes.add((key, name))

    # ---- what stays
    def stays(self, module: Any, name: str) -> bool:
        """Whether an attribute, which is no part, stays one."""
        slot = id(module), name
        if slot in self.preserved or id(module) in self.facts.values:
            return True
        if name == "training":
            return bool(module.training) and slot in self.facts.used
        if name not in module._declaration.attributes:
            return False
        value = getattr(module, name, None)
        if self.keeps_parameters and isinstance(value, Parameter):
            return True
        return slot in self.facts.used and (slot in self.facts.writes or not _is_foldable(value))

    def is_left(self, module: Any) -> bool:
        """Whether a module stays one: it has attributes, or parts that have some, or methods that stay."""
        if id(module) not in self._left:
            self._left[id(module)] = (
                module is self.root
                or id(module) in self.facts.values
                or any(key == id(module) for key, _ in self.preserved)
                or any(self.stays(module, name) for name in ("training", *module._declaration.attributes))
                or any(self.is_left(p) for p in module._modules.values() if p is not None)
            )
        return self._left[id(module)]

    # ---- classes and objects
    def name_of(self, module: Any) -> str:
        """The dotted name of the class of a module that stays, which the program declares now."""
        if id(module) in self._names:
            return self._names[id(module)]
        declaration = module._declaration
        if id(module) in self.facts.values:
            own: str = absorb(self.program, module._program, declaration.name)
            self._names[id(module)] = own
            return own
        name = declaration.name
        if self.program.archive.definition(name) is not None:
            name = fresh_name(name)
        self.program.archive.add(name, f"class {name.rpartition('.')[2]}(Module):\n  pass\n")
        self._names[id(module)] = name
        lines = [f"class {name.rpartition('.')[2]}(Module):"]
        names = self._attributes(module)
        for table in ("_parameters", "_buffers"):
            listed = "".join(f"{n!r}, " for n in names if n in vars(module)[table])
            lines.append(f"  _{table}__ = [{listed}]")
        for attribute in names:
            part = module._modules.get(attribute)
            kind = self.name_of(part) if part is not None else self._type(module, attribute)
            lines.append(_line(attribute, str(kind)))
        self.program.archive.add(name, "\n".join(lines) + "\n")
        return name

    def _attributes(self, module: Any) -> list[str]:
        """The names of the attributes and parts that stay."""
        result = ["training"] if self.stays(module, "training") else []
        for name in module._declaration.attributes:
            part = module._modules.get(name)
            if self.is_left(part) if part is not None else name != "training" and self.stays(module, name):
                result.append(name)
        return result

    def _type(self, module: Any, name: str) -> Type:
        if name == "training":
            return Type("bool")
        return self._rename_type(module._program, module._declaration.attributes[name])

    def _rename_type(self, program: Any, kind: Type) -> Type:
        if kind.name.startswith("__torch__."):
            return Type(absorb(self.program, program, kind.name))
        return Type(kind.name, tuple(self._rename_type(program, a) for a in kind.arguments))

    def _copy(self, module: Any) -> Any:
        """The frozen object of a module that stays. Its class is set when all methods are written."""
        if id(module) in self._copies:
            return self._copies[id(module)]
        name = self.name_of(module)
        is_whole = id(module) in self.facts.values
        result: Any = object.__new__(self.program.class_of(name) if is_whole else RecursiveScriptModule)
        self._copies[id(module)] = result
        tl_nn.Module.__init__(result)
        vars(result).update(training=module.training if is_whole else False, _is_full_backward_hook=None)
        names = list(module._declaration.attributes) if is_whole else self._attributes(module)
        for attribute in names:
            for table in ("_parameters", "_buffers"):
                if attribute in vars(module)[table]:
                    vars(result)[table][attribute] = vars(module)[table][attribute]
            if attribute in module._modules:
                part = module._modules[attribute]
                result._modules[attribute] = part if part is None else self._copy(part)
            elif attribute in vars(module):
                vars(result)[attribute] = vars(module)[attribute]
        return result

    # ---- methods
    def _select_branches(self, module: Any, name: str) -> ast.FunctionDef:
        """A copy of a method, with the branches selected that no write can change."""
        result = copy.deepcopy(module._declaration.methods[name])
        fixed = _set_names(module._program, module)
        owner = result.args.args[0].arg

        def constant(part: Any, attribute: str) -> ast.expr | None:
            if attribute == "training" and not part.training:
                return ast.Constant(False)
            value = getattr(part, attribute, None)
            if attribute in fixed or (id(part), attribute) in self.preserved or attribute == "training":
                return None
            is_simple = attribute in part._declaration.attributes and isinstance(value, _SIMPLE)
            return ast.parse(constant_text(value), mode="eval").body if is_simple else None

        _Conditions(module, owner, constant).visit(result)
        _select(result.body)
        return result

    def _tree(self, module: Any, name: str, tree: ast.FunctionDef) -> tuple[str | None, str, ast.FunctionDef]:
        """A method that is reached: the name of its class, or None for a function, its own name, and its tree."""
        own = self.name_of(module) if self.is_left(module) else None
        tree = copy.deepcopy(tree)
        owner = tree.args.args[0].arg
        tree.args.args[0].annotation = None
        rename_in(self.program, module._program, tree, set())
        _Constants(self, module, owner).visit(tree)
        _select(tree.body)
        if own is not None:
            tree.args.args[0].annotation = ast.parse(own, mode="eval").body
            return own, "", tree
        del tree.args.args[0]
        function = self.function_name(module, name)
        tree.name = function.rpartition(".")[2]
        return None, function, tree

    def function_name(self, module: Any, method: str) -> str:
        """The dotted name of the function that a method of a module without attributes becomes."""
        if (id(module), method) not in self.functions:
            owner, _, last = module._declaration.name.rpartition(".")
            name = f"{owner}.{last}_{method}"
            if name in self.functions.values() or self.program.archive.definition(name) is not None:
                name = fresh_name(name)
            self.functions[id(module), method] = name
        return self.functions[id(module), method]

    def constant(self, module: Any, name: str) -> ast.expr | None:
        """An attribute as a constant of the code, or None if it stays an attribute."""
        if self.stays(module, name):
            return None
        if name == "training":
            return ast.Constant(bool(module.training))
        if name not in module._declaration.attributes:
            return None
        value = getattr(module, name, None)
        text = self._text(value, module._declaration.attributes[name], module._program)
        return ast.parse(text, mode="eval").body

    def _text(self, value: Any, kind: Type, program: Any) -> str:
        if isinstance(value, Tensor):
            return self.program.constant_name(value.detach())
        if isinstance(value, tuple):
            items = [self._text(v, kind.element(i) or Type("Any"), program) for i, v in enumerate(value)]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, list):
            items = [self._text(v, kind.element(0) or Type("Any"), program) for v in value]
            return f"annotate({self._rename_type(program, kind.inner)}, [{', '.join(items)}])"
        if isinstance(value, dict):
            first = kind.inner.arguments[0] if kind.inner.arguments else Type("str")
            pairs = [
                f"{self._text(k, first, program)}: {self._text(v, kind.element(None) or Type('Any'), program)}"
                for k, v in value.items()
            ]
            return f"annotate({self._rename_type(program, kind.inner)}, {{{', '.join(pairs)}}})"
        return constant_text(value)


def _is_foldable(value: Any) -> bool:
    """Whether a value can be a constant of the code."""
    if type(value) in (list, tuple):
        return all(map(_is_foldable, value))
    if type(value) is dict:
        return all(_is_foldable(v) for pair in value.items() for v in pair)
    return isinstance(value, (Tensor, *_SIMPLE))


def _memory(value: Any) -> set[int]:
    """What tells memory of a value apart: storages of tensors, and lists and dictionaries themselves."""
    if isinstance(value, Tensor):
        return {value.untyped_storage().data_ptr()} if value.numel() else set()
    if isinstance(value, (list, tuple)):
        own = {id(value)} if isinstance(value, list) else set()
        return own.union(*map(_memory, value))
    if isinstance(value, dict):
        return {id(value)}.union(*map(_memory, value.values()))
    return set()


def _tensors_in(value: Any) -> bool:
    """Whether a value is or holds a tensor."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_tensors_in, value)) if isinstance(value, (list, tuple)) else isinstance(value, Tensor)


def _set_names(program: Any, module: Any) -> set[str]:
    """The names of the attributes that methods of a module and its parts set."""
    return {
        node.attr
        for part in module.modules()
        for method in part._declaration.methods.values()
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


class _Modules(ast.NodeTransformer):
    """A visitor that knows which module an expression stands for.

    Args:
        module: the module of the method.
        owner: the name of the method's first argument.
    """

    def __init__(self, module: Any, owner: str) -> None:
        self._aliases: dict[str, Any] = {owner: module}

    def module_of(self, node: ast.AST) -> Any:
        """The module that an expression stands for, or None."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.module_of(node.value)
            return owner._modules.get(node.attr) if owner is not None else None
        if isinstance(node, ast.Call) and dotted_name(node.func) == "getattr":
            owner = self.module_of(node.args[0])
            return owner._modules.get(literal(node.args[1])) if owner is not None else None
        return None

    def note(self, node: ast.Assign) -> Any:
        """The module that a statement gives a name, or None."""
        part = self.module_of(node.value)
        target = node.targets[0]
        if part is not None and isinstance(target, ast.Name):
            self._aliases[target.id] = part
        return part if isinstance(target, ast.Name) else None


class _Conditions(_Modules):
    """Replaces attributes in conditions by constants, so that known branches are selected."""

    def __init__(self, module: Any, owner: str, constant: Any) -> None:
        super().__init__(module, owner)
        self._constant = constant

    def visit_Assign(self, node: ast.Assign) -> Any:
        if self.note(node) is None:
            self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.module_of(node.value)
        if owner is not None and isinstance(node.ctx, ast.Load) and self.module_of(node) is None:
            constant = self._constant(owner, node.attr)
            if constant is not None:
                return ast.copy_location(constant, node)
        self.generic_visit(node)
        return node


class _Constants(_Modules):
    """Replaces attributes of a module and its parts by constants, and methods of parts that don't stay by functions."""

    def __init__(self, freezer: _Freezer, module: Any, owner: str) -> None:
        super().__init__(module, owner)
        self._freezer = freezer

    def visit_Assign(self, node: ast.Assign) -> Any:
        part = self.note(node)
        if part is not None and not self._freezer.is_left(part):
            return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if dotted_name(node.func) == "getattr" and len(node.args) == 2:
            owner = self.module_of(node.args[0])
            if owner is not None and self.module_of(node) is None:
                return self._freezer.constant(owner, literal(node.args[1])) or node
        owner = self.module_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if owner is not None and not self._freezer.is_left(owner):
            name = self._freezer.function_name(owner, node.func.attr)  # type: ignore[attr-defined]  # an attribute
            node.func = ast.copy_location(ast.parse(name, mode="eval").body, node.func)
            node.args = [self.visit(a) for a in node.args]
            node.keywords = [self.visit(k) for k in node.keywords]
            return node
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.module_of(node.value)
        if owner is not None and isinstance(node.ctx, ast.Load) and self.module_of(node) is None:
            constant = self._freezer.constant(owner, node.attr)
            if constant is not None:
                return ast.copy_location(constant, node)
        self.generic_visit(node)
        return node


def _condition_value(node: ast.expr) -> bool | None:
    """The value of a condition of constants, or None for another condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.IfExp):
        test = _condition_value(node.test)
        return None if test is None else _condition_value(node.body if test else node.orelse)
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
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.FunctionDef)):
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

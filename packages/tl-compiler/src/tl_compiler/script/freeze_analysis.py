"""What the methods of a module write: the facts by which a freeze decides which attributes become constants.

The analysis runs each method that an entry point reaches on sets of slots instead of values. A slot is an attribute
of a module, or a module. An operator that writes marks the slots that its argument may share memory with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .syntax import dotted_name, literal

__all__ = ["Analysis", "Slot"]

Slot = tuple[int, str]  # the id of a module and the name of an attribute, or "" for the module itself
Slots = frozenset[Slot]
_NOTHING: Slots = frozenset()

# Operators whose result may share memory with the first argument.
_VIEWS = frozenset([
    "__getitem__", "T", "alias", "as_strided", "chunk", "contiguous", "copy", "detach", "diagonal", "expand",
    "expand_as", "flatten", "get", "imag", "index_select", "items", "movedim", "mT", "narrow", "numpy_T",
    "permute", "pop", "popitem", "ravel", "real", "reshape", "reshape_as", "select", "slice", "split",
    "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "tensor_split", "to", "transpose", "unbind",
    "unflatten", "unfold", "unsqueeze", "values", "view", "view_as", "wait", "_unwrap_optional", "keys",
    "list", "dict", "cpu", "cuda", "float", "double", "half", "int", "long", "type_as", "setdefault",
])  # fmt: skip
# Operators of `ops.prim` whose result may share memory with the argument.
_PRIM_VIEWS = frozenset(
    ["H", "T", "data", "grad", "imag", "mH", "mT", "real", "unchecked_cast", "unchecked_unwrap_optional"]
)
# Operators that change the list or dictionary that is their first argument.
_CHANGES = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "reverse",
        "sort",
        "_set_item",
        "Delete",
        "update",
        "setdefault",
        "popitem",
    ]
)
# Operators that update running statistics: the positions of these, and that of the flag.
_STATISTICS = {"batch_norm": ((3, 4), 5), "instance_norm": ((3, 4), 5)}


class Analysis:
    """The attributes that the reachable methods of a module read and write.

    Args:
        root: the module.
        method_tree: returns the code of a module's method, with known branches selected.

    Args:
        methods: the code of the methods that are reached, by the id of the module and the name.
        used: the attributes that they read or write.
        writes: the attributes that they write, or whose memory they write.
        values: the ids of modules that are values, such as results: nothing of them changes.
        modules: the modules by id.
    """

    def __init__(self, root: Any, method_tree: Callable[[Any, str], ast.FunctionDef]) -> None:
        self.root, self._method_tree = root, method_tree
        self.methods: dict[tuple[int, str], ast.FunctionDef] = {}
        self.used: set[Slot] = set()
        self.writes: set[Slot] = set()
        self.values: set[int] = set()
        self.modules: dict[int, Any] = {}
        self._results: dict[Any, Slots] = {}

    # ---- methods and functions
    def call_method(self, module: Any, name: str, arguments: list[Slots]) -> Slots:
        """The slots that the result of a method may share memory with."""
        self.modules[id(module)] = module
        if id(module) in self.values or name not in module._declaration.methods:
            return self._escape(_NOTHING.union(*arguments))
        if (id(module), name) not in self.methods:
            self.methods[id(module), name] = self._method_tree(module, name)
        tree = self.methods[id(module), name]
        return self._run(
            (id(module), name), tree, module._program, [frozenset({(id(module), "")}), *arguments]
        )

    def _run(self, key: Any, tree: ast.FunctionDef, program: Any, arguments: list[Slots]) -> Slots:
        key = (key, tuple(arguments))
        if key in self._results:
            return self._results[key]
        self._results[key] = _NOTHING  # a recursive call, which no program makes
        names = [a.arg for a in tree.args.args]
        frame = _Frame(self, program, dict(zip(names, arguments, strict=False)))
        frame.block(tree.body)
        self._results[key] = frame.result
        return frame.result

    def call_function(self, program: Any, name: str, arguments: list[Slots]) -> Slots:
        """The slots that the result of a function of the program may share memory with."""
        node = program.definition_of(name)
        self.keep_whole(_NOTHING.union(*arguments))
        if node is None:  # a class, whose object holds the arguments
            return _NOTHING.union(*arguments)
        return self._run((id(program), name), node, program, arguments)

    # ---- facts
    def write(self, slots: Slots) -> None:
        """Notes that memory of slots is written."""
        self.writes |= {p for p in slots if p[1]}

    def _escape(self, slots: Slots) -> Slots:
        self.write(slots)
        self.keep_whole(slots)
        return slots

    escape = _escape

    def keep_whole(self, slots: Slots) -> None:
        """Notes modules that are values."""
        for key, name in slots:
            if not name:
                for module in self.modules[key].modules():
                    self.modules[id(module)] = module
                    self.values.add(id(module))

    def attribute(self, key: int, name: str) -> Slots:
        """The slots of an attribute of a module."""
        module = self.modules[key]
        self.used.add((key, name))
        part = module._modules.get(name)
        if part is None:
            return frozenset({(key, name)})
        self.modules[id(part)] = part
        if (key, name) in self.writes:  # one of several modules
            self.keep_whole(frozenset({(id(part), "")}))
        return frozenset({(id(part), "")})

    def set_attribute(self, key: int, name: str, value: Slots) -> None:
        """Notes that a method sets an attribute of a module."""
        module = self.modules[key]
        self.used.add((key, name))
        self.writes.add((key, name))
        if module._modules.get(name) is not None or any(not n for _, n in value):
            kind = module._program.declaration(module._declaration.attributes[name].name)
            if kind is not None and kind.kind == "module interface":
                raise RuntimeError("Freezing does not support SetAttr on an interface type.")
            self.keep_whole(self.attribute(key, name))
        self._escape(value)


class _Frame:
    """One run of a method or function on slots."""

    def __init__(self, facts: Analysis, program: Any, names: dict[str, Slots]) -> None:
        self.facts, self.program, self.names = facts, program, names
        self.result: Slots = _NOTHING

    # ---- statements
    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.value(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value))
            case ast.Expr(value=value):
                self.value(value)
            case ast.Return(value=ast.expr() as value):
                self.give_back(self.value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test)
                self.branches([body, orelse])
            case ast.While(test=test, body=body):
                self.value(test)
                self.branches([body, []])
                self.branches([body, []])
            case ast.For(iter=items, body=body):
                self.value(items)
                self.branches([body, []])
                self.branches([body, []])
            case ast.With(items=[item], body=body):
                region = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, self.call_member(region, "__enter__", []))
                self.block(body)
                self.call_member(region, "__exit__", [])
            case ast.FunctionDef(name=name, body=body):  # what `fork` runs
                inner = _Frame(self.facts, self.program, dict(self.names))
                inner.block(body)
                self.names[name] = inner.result

    def give_back(self, value: Slots) -> None:
        if (id(self.facts.root), "") in value:
            raise RuntimeError("attempted to freeze a module that return itself")
        self.facts.keep_whole(value)
        self.result |= value

    def branches(self, bodies: list[list[ast.stmt]]) -> None:
        """Runs statements that may or may not run."""
        before, after = self.names, dict[str, Slots]()
        for body in bodies:
            self.names = dict(before)
            self.block(body)
            for name, slots in self.names.items():
                after[name] = after.get(name, _NOTHING) | slots
        self.names = after

    def assign(self, target: ast.expr, value: Slots) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=items):
                for item in items:
                    self.assign(item, value)
            case ast.Attribute(value=owner, attr=name):
                slots = self.value(owner)
                modules = [key for key, own in slots if not own]
                for key in modules:
                    self.facts.set_attribute(key, name, value)
                if not modules:
                    self.facts.escape(slots | value)
            case ast.Subscript(value=owner, slice=key):
                self.value(key)
                self.facts.escape(self.value(owner) | value)

    # ---- expressions
    def value(self, node: ast.AST) -> Slots:
        match node:
            case ast.Name(id=name):
                return self.names.get(name, _NOTHING)
            case ast.Attribute(value=owner, attr=name):
                return self.member(self.value(owner), name)
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=owner, slice=key):
                self.value(key)
                return self.value(owner)
        inner = [self.value(child) for child in ast.iter_child_nodes(node)]
        result = _NOTHING.union(*inner)
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            self.facts.keep_whole(result)
        return result

    def member(self, owner: Slots, name: str) -> Slots:
        parts = [
            self.facts.attribute(key, name) if not own else frozenset({(key, own)}) for key, own in owner
        ]
        return _NOTHING.union(*parts)

    def call(self, node: ast.Call) -> Slots:
        name = dotted_name(node.func) or ""
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            return self.value(node.args[1])
        if name == "getattr" and len(node.args) == 2:
            return self.member(self.value(node.args[0]), literal(node.args[1]))
        arguments = [self.value(a) for a in node.args]
        named = {k.arg: self.value(k.value) for k in node.keywords}
        everything = [*arguments, *named.values()]
        if name.startswith("torch."):
            return self.operator(name.removeprefix("torch."), node, arguments, named)
        if name.startswith("ops.prim."):
            is_view = name.removeprefix("ops.prim.") in _PRIM_VIEWS
            return _NOTHING.union(*everything) if is_view else _NOTHING
        if name.startswith("ops."):
            return self.facts.escape(_NOTHING.union(*everything))
        if name.startswith("__torch__."):
            return self.facts.call_function(self.program, name.removesuffix(".__new__"), everything)
        if isinstance(node.func, ast.Attribute):
            return self.call_member(self.value(node.func.value), node.func.attr, everything)
        return _NOTHING.union(*everything)  # a word of the language, such as `fork`

    def call_member(self, owner: Slots, name: str, arguments: list[Slots]) -> Slots:
        self.facts.keep_whole(_NOTHING.union(*arguments))
        result = _NOTHING
        for key, own in owner:
            if own:  # an object, whose method may write what it holds
                result |= self.facts.escape(_NOTHING.union(owner, *arguments))
            else:
                result |= self.facts.call_method(self.facts.modules[key], name, arguments)
        # An object that holds no slots yet: its method, such as __init__, may store the arguments.
        return result if owner else self.facts.escape(_NOTHING.union(*arguments))

    def operator(
        self, name: str, node: ast.Call, arguments: list[Slots], named: dict[str | None, Slots]
    ) -> Slots:
        first = arguments[0] if arguments else _NOTHING
        in_place = name.endswith("_") and not name.endswith("__")
        if in_place or name in _CHANGES:
            self.facts.write(first)
        if name in _CHANGES:
            self.facts.escape(_NOTHING.union(*arguments[1:]))
        self.facts.write(named.get("out", _NOTHING))
        if name in _STATISTICS:
            positions, flag = _STATISTICS[name]
            fixed = len(node.args) > flag and isinstance(node.args[flag], ast.Constant)
            if not fixed or node.args[flag].value is not False:  # type: ignore[attr-defined]  # a constant
                for position in positions:
                    self.facts.write(arguments[position] if position < len(arguments) else _NOTHING)
        return first if in_place or name in _VIEWS else _NOTHING

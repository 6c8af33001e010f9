"""The operators of a function's code in the form of PyTorch's intermediate representation, for people to read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tl_core.operators import packets as ops
from tl_core.schemas.tags import Tag

from .printing import constant_text, expression_text
from .syntax import dotted_name
from .types import Type, type_of

__all__ = ["Graph", "GraphNode"]

_WORDS = {"annotate": None, "unchecked_cast": "prim::unchecked_cast", "uninitialized": "prim::Uninitialized",
          "isinstance": "prim::isinstance", "getattr": None, "int": "aten::Int", "float": "aten::Float",
          "bool": "aten::Bool", "str": "aten::str", "print": "prim::Print", "range": "aten::range",
          "fork": "prim::fork", "wait": "aten::wait"}  # fmt: skip


def _type_text(kind: Type) -> str:
    """A type as the intermediate representation writes it.

    >>> _type_text(Type("List", (Type("Optional", (Type("int"),)),)))
    'int?[]'
    """
    inner = [_type_text(a) for a in kind.arguments]
    if kind.name == "List" and inner:
        return f"{inner[0]}[]"
    if kind.name == "Optional" and inner:
        if kind.arguments[0].name == "Union":
            return f"{inner[0][:-1]}, NoneType)"
        return f"{inner[0]}?"
    if kind.name == "Tuple":
        return f"({', '.join(inner)})"
    if kind.name == "Future" and inner:
        return f"Future[{inner[0]}]"
    if kind.name == "Dict" and inner:
        texts = [i.replace("Future[", "Future(").replace("]", ")") if "Future[" in i else i for i in inner]
        return f"Dict({', '.join(texts)})"
    if kind.name == "Union":
        return f"Union({', '.join(sorted(inner))})"
    return f"{kind.name}({', '.join(inner)})" if inner else kind.name


@dataclass
class GraphNode:
    """An operator of a graph.

    Args:
        kind_name: the name, such as "aten::relu".
        inputs: the names of its arguments.
        outputs: the names of its results.
        attributes: its constants, as text.
        blocks: the operators of its branches or its loop.
    """

    kind_name: str
    inputs: list[str]
    outputs: list[str]
    attributes: str = ""
    blocks: list[list[GraphNode]] = field(default_factory=list)

    def kind(self) -> str:
        """The name of the operator."""
        return self.kind_name

    def isNondeterministic(self) -> bool:
        """Whether the operator draws random numbers."""
        space, _, name = self.kind_name.partition("::")
        packet = getattr(ops.aten, name, None) if space == "aten" else None
        if packet is None:
            return False
        return any(Tag.nondeterministic_seeded in getattr(packet, o).tags for o in packet.overloads())


class Graph:
    """The operators of a function.

    Args:
        program: the `Program` of the function.
        node: the definition.
        owner: the class of a method, or None.
        inlined: whether the operators of called functions and methods stand in the place of the calls.

    Example:
        >>> node = ast.parse("def f(x: Tensor) -> Tensor:\\n  return torch.mul(torch.relu(x), 2)").body[0]
        >>> print(Graph(None, node, None), end="")
        graph(%x : Tensor):
          %1 : Tensor = aten::relu(%x)
          %2 : int = prim::Constant[value=2]()
          %3 : Tensor = aten::mul(%1, %2)
          return (%3)
    """

    def __init__(
        self, program: Any, node: ast.FunctionDef, owner: Type | None, inlined: bool = False
    ) -> None:
        self._program, self._node, self._owner, self._inlined = program, node, owner, inlined

    def _build(self) -> None:
        self._count = 0
        self._types: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._returned: list[str] = []
        node, owner = self._node, self._owner
        for index, argument in enumerate(node.args.args):
            kind = owner if owner is not None and index == 0 else type_of(argument.annotation)
            self._names[argument.arg] = argument.arg
            self._types[argument.arg] = _type_text(kind)
        self._nodes: list[GraphNode] = []
        self._block(node.body, self._nodes)

    def __getattr__(self, name: str) -> Any:
        if name not in ("_count", "_types", "_names", "_returned", "_nodes"):
            raise AttributeError(f"'Graph' object has no attribute {name!r}")
        self._build()  # when a part is first needed, as each method has a graph
        return vars(self)[name]

    def nodes(self) -> Iterator[GraphNode]:
        """The operators in order."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[str]:
        """The names of the arguments."""
        return iter([a.arg for a in self._node.args.args])

    def outputs(self) -> Iterator[str]:
        """The names of the results."""
        return iter(self._returned)

    def findNode(self, kind: str, recurse: bool = True) -> GraphNode | None:
        """Returns the first operator of a name, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[GraphNode]:
        """Returns the operators of a name."""
        return [n for n in _walk(self._nodes, recurse) if n.kind_name == kind]

    def schema(self) -> str:
        """The arguments and the result as text."""
        arguments = []
        defaults = self._node.args.defaults
        first = len(self._node.args.args) - len(defaults)
        for index, argument in enumerate(self._node.args.args):
            end = f"={expression_text(defaults[index - first])}" if index >= first else ""
            arguments.append(f"{self._types[argument.arg]} {argument.arg}{end}")
        return f"{self._node.name}({', '.join(arguments)}) -> {_type_text(type_of(self._node.returns))}"

    def __str__(self) -> str:
        arguments = [f"%{a.arg} : {self._types[a.arg]}" for a in self._node.args.args]
        lines = [f"graph({(',' + chr(10) + '      ').join(arguments)}):", *self._texts(self._nodes, "  ")]
        lines.append(f"  return ({', '.join(f'%{n}' for n in self._returned)})")
        return "\n".join(lines) + "\n"

    __repr__ = __str__

    def copy(self) -> Graph:
        """A graph of the same function."""
        return Graph(self._program, self._node, self._owner, self._inlined)

    def inline(self) -> None:
        """Puts the operators of called functions and methods in the place of the calls."""
        self._inlined = True
        self._build()

    def _texts(self, nodes: list[GraphNode], indent: str) -> Iterator[str]:
        for node in nodes:
            results = ", ".join(f"%{o} : {self._types.get(o, 'Tensor')}" for o in node.outputs)
            attributes = f"[{node.attributes}]" if node.attributes else ""
            arguments = ", ".join(f"%{i}" for i in node.inputs)
            yield f"{indent}{results + ' = ' if results else ''}{node.kind_name}{attributes}({arguments})"
            for number, block in enumerate(node.blocks):
                yield f"{indent}  block{number}():"
                yield from self._texts(block, indent + "    ")
                yield f"{indent}    -> ()"

    # ---- statements
    def _block(self, body: list[ast.stmt], into: list[GraphNode]) -> None:
        for statement in body:
            self._statement(statement, into)

    def _statement(self, node: ast.stmt, into: list[GraphNode]) -> None:
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                self._assign(target, self._value(value, into), into)
            case ast.Expr(value=value):
                self._value(value, into)
            case ast.Return(value=value):
                self._returned = [self._value(value or ast.Constant(None), into)]
            case ast.If(test=test, body=body, orelse=orelse):
                inputs, blocks = [self._value(test, into)], [[], []]  # type: ignore[var-annotated]  # lists of nodes
                self._block(body, blocks[0])
                self._block(orelse, blocks[1])
                into.append(GraphNode("prim::If", inputs, [], "", blocks))
            case ast.For(target=target, iter=values, body=body):
                self._loop([self._value(values, into)], target, body, into)
            case ast.While(test=test, body=body):
                self._loop([self._value(test, into)], None, body, into)
            case ast.With(items=[item], body=body):
                region = self._value(item.context_expr, into)
                entered = self._emit(into, "prim::Enter", [region], "Any")
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, entered, into)
                self._block(body, into)
                self._emit(into, "prim::Exit", [region], "Any")
            case ast.FunctionDef(body=body):
                into.append(GraphNode("prim::Closure", [], [node.name], "", [[]]))
                self._names[node.name] = node.name

    def _loop(self, inputs: list[str], target: Any, body: list[ast.stmt], into: list[GraphNode]) -> None:
        block: list[GraphNode] = []
        if isinstance(target, ast.Name):
            self._names[target.id] = target.id
            self._types[target.id] = "int"
        self._block(body, block)
        into.append(GraphNode("prim::Loop", inputs, [], "", [block]))

    def _assign(self, target: ast.expr, value: str, into: list[GraphNode]) -> None:
        match target:
            case ast.Name(id=name):
                self._names[name] = value
            case ast.Tuple(elts=items):
                names = [self._fresh("Tensor") for _ in items]
                into.append(GraphNode("prim::TupleUnpack", [value], names))
                for item, name in zip(items, names, strict=True):
                    self._assign(item, name, into)
            case ast.Attribute(value=owner, attr=name):
                into.append(
                    GraphNode("prim::SetAttr", [self._value(owner, into), value], [], f'name="{name}"')
                )
            case ast.Subscript(value=owner, slice=key):
                inputs = [self._value(owner, into), self._value(key, into), value]
                into.append(GraphNode("aten::_set_item", inputs, []))

    # ---- values
    def _fresh(self, kind: str) -> str:
        self._count += 1
        self._types[str(self._count)] = kind
        return str(self._count)

    def _emit(
        self, into: list[GraphNode], name: str, inputs: list[str], kind: str, attributes: str = ""
    ) -> str:
        output = self._fresh(kind)
        into.append(GraphNode(name, inputs, [output], attributes))
        return output

    def _value(self, node: ast.expr, into: list[GraphNode]) -> str:
        match node:
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.Constant(value=value):
                kind = "NoneType" if value is None else type(value).__name__
                text = "" if value is None else f"value={constant_text(value)}"
                return self._emit(into, "prim::Constant", [], kind, text)
            case ast.Attribute(value=owner, attr=name):
                path = dotted_name(node) or ""
                if path.startswith(("CONSTANTS.", "torch.", "__torch__.")):
                    return self._emit(into, "prim::Constant", [], "Tensor", f"value={path}")
                source = self._value(owner, into)
                holder = self._program.declaration(self._types.get(source, "")) if self._program else None
                if holder is not None and holder.kind == "enum":
                    kinds = {type(v).__name__ for v in holder.members.values()}
                    kind = "str" if name == "name" else kinds.pop() if len(kinds) == 1 else "AnyType"
                    return self._emit(into, f"prim::Enum{name.capitalize()}", [source], kind)
                return self._emit(
                    into, "prim::GetAttr", [source], self._attribute_type(source, name), f'name="{name}"'
                )
            case ast.Call():
                return self._call(node, into)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                inputs = [self._value(i, into) for i in items]
                first = self._types.get(inputs[0], "Tensor") if inputs else "Tensor"
                is_list = isinstance(node, ast.List)
                kind = (
                    f"{first}[]"
                    if is_list
                    else f"({', '.join(self._types.get(i, 'Tensor') for i in inputs)})"
                )
                return self._emit(
                    into, "prim::ListConstruct" if is_list else "prim::TupleConstruct", inputs, kind
                )
            case ast.Dict(keys=keys, values=values):
                pairs = [self._value(v, into) for k, i in zip(keys, values, strict=True) for v in (k, i) if v]
                return self._emit(into, "prim::DictConstruct", pairs, "Dict(str, Tensor)")
            case ast.UnaryOp(operand=operand):
                return self._emit(into, "aten::neg", [self._value(operand, into)], "int")
            case ast.Subscript(value=owner, slice=key):
                inputs = [self._value(owner, into), self._value(key, into)]
                return self._emit(into, "prim::TupleIndex", inputs, "Tensor")
            case ast.IfExp(test=test, body=body, orelse=orelse):
                inputs = [self._value(v, into) for v in (test, body, orelse)]
                return self._emit(into, "prim::If", inputs, self._types.get(inputs[1], "Tensor"))
        return self._emit(into, "prim::Constant", [], "Tensor", f"value={expression_text(node)}")

    def _attribute_type(self, source: str, name: str) -> str:
        if self._program is None:
            return "Tensor"
        declaration = self._program.declaration(self._types.get(source, ""))
        kind = declaration.attributes.get(name) if declaration is not None else None
        return _type_text(kind) if kind is not None else "Tensor"

    def _call(self, node: ast.Call, into: list[GraphNode]) -> str:
        name = dotted_name(node.func) or ""
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            inner, kind = self._value(node.args[1], into), _type_text(type_of(node.args[0]))
            if name == "annotate":
                self._types[inner] = kind
                return inner
            return self._emit(into, "prim::unchecked_cast", [inner], kind)
        if name == "getattr":
            source = self._value(node.args[0], into)
            own = expression_text(node.args[1])
            return self._emit(
                into, "prim::GetAttr", [source], self._attribute_type(source, own[1:-1]), f"name={own}"
            )
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if name.startswith(("torch.", "ops.")):
            space, _, own = name.removeprefix("ops.").rpartition(".")
            inputs = [self._value(a, into) for a in arguments]
            return self._emit(into, f"{'aten' if space == 'torch' else space}::{own}", inputs, "Tensor")
        if name in _WORDS:
            inputs = [self._value(a, into) for a in arguments if name != "isinstance" or a is node.args[0]]
            kind = name if name in ("int", "float", "bool", "str") else "Tensor"
            return self._emit(into, _WORDS[name] or name, inputs, kind)
        return self._call_of_code(node, name, arguments, into)

    def _call_of_code(
        self, node: ast.Call, name: str, arguments: list[ast.expr], into: list[GraphNode]
    ) -> str:
        if isinstance(node.func, ast.Attribute) and not name.startswith("__torch__."):
            inputs = [self._value(node.func.value, into), *(self._value(a, into) for a in arguments)]
            owner = self._types.get(inputs[0], "")
            inner = self._inline_call(f"{owner}.{node.func.attr}", inputs, into)
            if inner is not None:
                return inner
            kind = (
                self._program.result_type(f"{owner}.{node.func.attr}") if self._program is not None else None
            )
            return self._emit(
                into,
                "prim::CallMethod",
                inputs,
                _type_text(kind or Type("Tensor")),
                f'name="{node.func.attr}"',
            )
        inputs = [self._value(a, into) for a in arguments]
        inner = self._inline_call(name, inputs, into)
        if inner is not None:
            return inner
        declaration = self._program.declaration(name) if self._program is not None else None
        if declaration is not None and declaration.kind == "tuple":
            return self._emit(into, "prim::TupleConstruct", inputs, name)
        kind = self._program.result_type(name) if self._program is not None else None
        own = name.rpartition(".")[2]
        return self._emit(
            into, "prim::CallFunction", inputs, _type_text(kind or Type("Tensor")), f'name="{own}"'
        )

    def _inline_call(self, name: str, inputs: list[str], into: list[GraphNode]) -> str | None:
        """The result of a function whose operators stand in the place of the call, or None for another call."""
        node = self._program.definition_of(name) if self._inlined and self._program is not None else None
        if node is None:
            return None
        outer_names, outer_result = self._names, self._returned
        self._names = dict(zip((a.arg for a in node.args.args), inputs, strict=False))
        for argument, default in zip(node.args.args[::-1], node.args.defaults[::-1], strict=False):
            if argument.arg not in self._names:
                self._names[argument.arg] = self._value(default, into)
        self._returned = []
        self._block(node.body, into)
        result = self._returned
        self._names, self._returned = outer_names, outer_result
        return result[0] if result else self._emit(into, "prim::Constant", [], "NoneType")


def _walk(nodes: list[GraphNode], recurse: bool) -> Iterator[GraphNode]:
    for node in nodes:
        yield node
        for block in node.blocks if recurse else ():
            yield from _walk(block, recurse)

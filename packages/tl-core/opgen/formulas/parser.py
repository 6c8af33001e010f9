"""Python expressions as typed trees: `Parser`, whose methods are named by the class of `ast` that they read."""

from __future__ import annotations

import ast
from collections.abc import Callable

from opgen.formulas.operators import Operators
from opgen.formulas.scope import Names, Scope
from opgen.formulas.tree import (
    META_KIND,
    TENSORS,
    Arithmetic,
    Bind,
    Body,
    Choice,
    Constant,
    Index,
    Items,
    Junction,
    Loop,
    Node,
    Property,
    Slice,
    Source,
    Stored,
    Unary,
    Variable,
)
from opgen.overload import Resolver
from opgen.program_text import DTYPES

_PROPERTIES = {"shape": "SHAPE", "ndim": "NDIM", "dtype": "DTYPE", "device": "DEVICE", "layout": "LAYOUT"}
_PROPERTY_CALLS = {
    "size": "SHAPE",
    "stride": "STRIDES",
    "storage_offset": "OFFSET",
    "dim": "NDIM",
    "numel": "NUMEL",
    "is_complex": "IS_COMPLEX",
    "is_floating_point": "IS_FLOATING",
}
# Functions of plain values: name -> (operation, kind of the value).
_FUNCTIONS = {
    "abs": ("ABS", "value"),
    "prod": ("PROD", "value"),
    "range": ("RANGE", "list"),
    "sum": ("LIST_SUM", "value"),
    "defined": ("DEFINED", "bool"),
}
_CONSTANT_KINDS = ("bool", "int", "float")


def expression_of(text: str, scope: Scope) -> ast.expr:
    """The syntax tree of an expression; raises FormulaError if the text is no expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        scope.fail(text, f"is no Python expression: {error.msg}")


def constant(value: object) -> Constant:
    """A constant with its kind."""
    if value is None:
        return Constant("none", value)
    if isinstance(value, str) and value in DTYPES:
        return Constant("dtype", value)
    kind = type(value).__name__
    return Constant(kind if kind in _CONSTANT_KINDS else "value", value)


class Parser:
    """Reads the expressions of one formula."""

    def __init__(self, scope: Scope, resolver: Resolver):
        self.scope = scope
        self.operators = Operators(resolver, scope)

    def body(self, node: ast.expr, n_results: int) -> Body:
        """A formula of `n_results` results: a tuple, or a call with so many results."""
        if n_results == 1:
            return Body((), (self.value(node),))
        if not isinstance(node, ast.Tuple):
            return Body((), (self.value(node, n_results),))
        if len(node.elts) != n_results:
            self.scope.fail(node, f"gives {len(node.elts)} gradients for {n_results} arguments")
        return Body((), tuple(self.value(e) for e in node.elts))

    def value(self, node: ast.expr, n_results: int = 1) -> Node:
        """The tree of an expression."""
        if isinstance(node, ast.Call):
            return self.call(node, n_results)
        if n_results != 1:
            self.scope.fail(node, "must be a tuple or a call with several results")
        read: Callable[..., Node] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            self.scope.fail(node, "is not part of the formula language")
        return read(node)

    # ---- names, constants, signs -----------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Node:
        return constant(node.value)

    def _name(self, node: ast.Name) -> Node:
        return self.scope.find(node)

    def _binop(self, node: ast.BinOp) -> Node:
        left, right = self.value(node.left), self.value(node.right)
        return self.operators.sign(node, type(node.op), left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return constant(-node.operand.value)
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Unary("bool", "NOT", value)
        if isinstance(node.op, ast.USub) and value.kind in TENSORS:
            return self.operators.call(node, "neg", [value], None, "ARITH", "NEG")
        if isinstance(node.op, ast.USub):
            return Unary(value.kind, "NEG", value)
        if isinstance(node.op, ast.Invert) and value.kind in TENSORS:
            return self.operators.call(node, "bitwise_not", [value])
        self.scope.fail(node, "uses an operator that formulas do not have")

    def _compare(self, node: ast.Compare) -> Node:
        if len(node.ops) != 1:
            self.scope.fail(node, "chains comparisons")
        operator, right = node.ops[0], node.comparators[0]
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return self._is_none(node, isinstance(operator, ast.IsNot))
        negated = isinstance(operator, ast.NotIn)
        sign = ast.In if negated else type(operator)
        value = self.operators.sign(node, sign, self.value(node.left), self.value(right))
        return Unary("bool", "NOT", value) if negated else value

    def _is_none(self, node: ast.Compare, negated: bool) -> Node:
        right = node.comparators[0]
        if not (isinstance(right, ast.Constant) and right.value is None):
            self.scope.fail(node, "`is` compares with None only")
        value = self.value(node.left)
        if isinstance(value, Stored) and value.kind in TENSORS:
            is_tensor = value.property("IS_TENSOR")
            return is_tensor if negated else Unary("bool", "NOT", is_tensor)
        return Arithmetic("bool", "IS_NOT" if negated else "IS", (value, constant(None)))

    def _boolop(self, node: ast.BoolOp) -> Node:
        values = tuple(self.value(v) for v in node.values)
        return Junction(values[0].kind, values, isinstance(node.op, ast.Or))

    def _ifexp(self, node: ast.IfExp) -> Node:
        test = self.test(node.test)
        return self.choice(test, self.value(node.body), self.value(node.orelse))

    def test(self, node: ast.expr) -> Node:
        """A condition: a plain value."""
        value = self.value(node)
        if value.kind in TENSORS:
            self.scope.fail(node, "chooses by a tensor; use `where`")
        return value

    @staticmethod
    def choice(test: Node, body: Node, orelse: Node) -> Choice:
        """One of two values, of the kind of the branch that is not None."""
        kind = body.kind if orelse.kind in (body.kind, "none") else orelse.kind
        return Choice(kind, test, body, orelse)

    # ---- lists -----------------------------------------------------------------------------------------------------

    def _list(self, node: ast.List | ast.Tuple) -> Node:
        values = tuple(self.value(e) for e in node.elts)
        return Items("tensors" if any(v.kind == "tensor" for v in values) else "list", values)

    _tuple = _list

    def _subscript(self, node: ast.Subscript) -> Node:
        if isinstance(node.value, ast.Name) and node.value.id == "needs":
            return self._needs(node)
        value = self.value(node.value)
        if value.kind in TENSORS:
            self.scope.fail(node, "indexes a tensor; use `select` or `slice`")
        if isinstance(node.slice, ast.Slice):
            start, stop = (
                self.value(e) if e else constant(None) for e in (node.slice.lower, node.slice.upper)
            )
            return Slice(value.kind, value, start, stop)
        return Index("tensor" if value.kind == "tensors" else "value", value, self.value(node.slice))

    def _needs(self, node: ast.Subscript) -> Node:
        name = ast.unparse(node)
        if name not in self.scope.names:
            self.scope.fail(node, "needs[i] counts the arguments of its own key")
        return self.scope.names[name]

    def _listcomp(self, node: ast.ListComp) -> Node:
        if len(node.generators) != 1:
            self.scope.fail(node, "nests comprehensions")
        loop, position = node.generators[0], Variable("int")
        with self.scope.inner():
            sources = self._sources(loop, position)
            conditions = tuple(self.value(test) for test in loop.ifs)
            element = self.value(node.elt)
        return Loop("tensors" if element.kind == "tensor" else "list", position, sources, conditions, element)

    def _sources(self, loop: ast.comprehension, position: Variable) -> tuple[Source, ...]:
        """The lists of a comprehension; puts the loop variables into the scope."""
        targets, values = self._targets(loop)
        lists = [self.value(v) for v in values]
        if len(targets) > len(lists):  # enumerate
            self.scope.names[targets.pop(0)] = position
        return tuple(self._source(value, target, position) for value, target in zip(lists, targets))

    def _targets(self, loop: ast.comprehension) -> tuple[list[str], list[ast.expr]]:
        """The names of the loop variables and the lists: of `enumerate`, one list fewer."""
        call = loop.iter if isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) else None
        function = call.func.id if call and isinstance(call.func, ast.Name) else ""
        if call and function in ("zip", "enumerate") and isinstance(loop.target, ast.Tuple):
            names = [e.id for e in loop.target.elts if isinstance(e, ast.Name)]
            if len(names) == len(call.args) + (function == "enumerate"):
                return names, call.args
        elif isinstance(loop.target, ast.Name):
            return [loop.target.id], [loop.iter]
        self.scope.fail(loop.iter, "does not fit its loop variables")

    def _source(self, value: Node, target: str, position: Variable) -> Source:
        bind = None
        if not isinstance(value, (Stored, Variable)):
            bind = Bind(value.kind, Variable(value.kind), value)
            value = bind.variable
        if isinstance(value, Stored) and value.kind == "tensors":
            self.scope.names[target] = Stored("tensor", value.source, value.index, element=position)
            return Source(value, self.length(value), bind, None)
        variable = Variable("tensor" if value.kind == "tensors" else "value")
        self.scope.names[target] = variable
        return Source(value, self.length(value), bind, variable)

    @staticmethod
    def length(value: Node) -> Node:
        """The length of a list."""
        if isinstance(value, Stored) and value.kind == "tensors":
            return value.property("COUNT")
        return Unary("int", "LEN", value)

    # ---- properties and calls --------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Node:
        value = self.value(node.value)
        if node.attr in _PROPERTIES:
            return self.property(value, _PROPERTIES[node.attr])
        return self.operators.call(node, node.attr, [value])

    @staticmethod
    def property(value: Node, meta: str) -> Node:
        """A property of a tensor, read without the tensor if the tensor is stored."""
        if isinstance(value, Stored) and value.meta == "VALUE":
            return value.property(meta)
        return Property(META_KIND[meta], meta, value)

    def call(self, node: ast.Call, n_results: int) -> Node:
        """A call of a function of plain values, of a property, or of a row."""
        if isinstance(node.func, ast.Name):
            return self._function(node, node.func.id, n_results)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, n_results)
        self.scope.fail(node, "calls something that has no name")

    def _method(self, node: ast.Call, function: ast.Attribute, n_results: int) -> Node:
        receiver = self.value(function.value)
        if function.attr in _PROPERTY_CALLS:
            value = self.property(receiver, _PROPERTY_CALLS[function.attr])
            return Index("int", value, self.value(node.args[0])) if node.args else value
        operands = [receiver, *self.values(node.args)]
        if function.attr == "conj":
            return self.operators.call(node, "conj", operands, code="CONJ")
        return self.operators.call(node, function.attr, operands, self.keywords(node), n_results=n_results)

    def _function(self, node: ast.Call, name: str, n_results: int) -> Node:
        operands = self.values(node.args)
        if name == "is_tensor":
            return self.property(operands[0], "IS_TENSOR")
        if name == "len":
            return self.length(operands[0])
        is_plain = (
            bool(operands) and not node.keywords and (name == "defined" or operands[0].kind not in TENSORS)
        )
        if is_plain and name in ("min", "max"):
            return Arithmetic("value", name.upper(), tuple(operands))
        if is_plain and name in _FUNCTIONS:
            operation, kind = _FUNCTIONS[name]
            return Unary(kind, operation, operands[0])
        return self.operators.call(node, name, operands, self.keywords(node), n_results=n_results)

    def values(self, nodes: list[ast.expr]) -> list[Node]:
        """The trees of several expressions."""
        return [self.value(n) for n in nodes]

    def keywords(self, node: ast.Call) -> Names:
        """The keyword arguments of a call."""
        return {k.arg: self.value(k.value) for k in node.keywords if k.arg}

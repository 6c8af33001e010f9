"""The nodes that compute the symbolic numbers of a trace: sizes of tensors and expressions of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_core.symbolic.arithmetic
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymInt

from ..fx.node import Node
from ..symbolic.expression import Call, Expr, Logic, Product, Relation, Sum, Symbol, sympify
from .recorder import Recorder

__all__ = ["SizeNodes"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "PowByNatural": operator.pow,
    "FloatPow": operator.pow,
    "Abs": abs,
    "RoundToInt": round,
    "BitwiseFn_bitwise_and": operator.and_,
    "BitwiseFn_bitwise_or": operator.or_,
    "BitwiseFn_bitwise_xor": operator.xor,
    "Max": tl_core.symbolic.arithmetic.sym_max,
    "Min": tl_core.symbolic.arithmetic.sym_min,
    "ToFloat": tl_core.symbolic.arithmetic.sym_float,
    "TruncToInt": math.trunc,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
}
_RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _function_of(name: str) -> Callable[..., Any]:
    """The function of a graph for a function of expressions."""
    function = _FUNCTIONS.get(name)
    if function is not None:
        return function
    return getattr(tl_core.symbolic.arithmetic, f"_sym_{name.removeprefix('OpaqueUnaryFn_')}")


class SizeNodes:
    """A map from symbolic numbers to the nodes that compute them. A node is created at its first use.

    Args:
        recorder: creates the nodes.
        shape_env: the environment of the symbols; None in a trace of real tensors.
    """

    def __init__(self, recorder: Recorder, shape_env: Any) -> None:
        self._recorder, self._shape_env = recorder, shape_env
        self.symbol_from_outside: Callable[[Symbol], Node] | None = None  # of a subgraph
        self._sources: dict[Symbol, Callable[[], Node]] = {}
        self._nodes: dict[Expr, Node] = {}
        # By the id of a number, which the entry refers to.
        self._dimensions: dict[int, tuple[Any, Callable[[], Node]]] = {}
        self._sizes: dict[tuple[Node, int], Node] = {}

    # ---- the sources of symbols
    def track(self, number: Any, node: Node) -> None:
        """Stores the node of a symbolic number.

        Args:
            number: the number.
            node: the node.
        """
        e = number.node.expr
        self._nodes[e] = node
        if isinstance(e, Symbol):
            self.add_source(e, lambda: node)
        elif isinstance(e, Relation) and isinstance(e.lhs, Symbol):  # an unbacked bool: u0 == 1
            self.add_source(e.lhs, lambda: self._call(tl_core.symbolic.arithmetic.sym_int, (node,), None))

    def track_sizes(self, t: Any, node: Node) -> None:
        """Stores the symbols that the sizes of a tensor contain.

        Args:
            t: the tensor.
            node: its node.
        """
        if not isinstance(t, FakeTensor) or t.symbolic is None:
            return
        for i, n in enumerate(t.symbolic.sizes):
            if isinstance(n, SymInt):
                e = n.node._expr
                read = partial(self.node_of_size, node, i, e)
                self._dimensions[id(n.node)] = n.node, read
                if isinstance(e, Symbol):
                    self.add_source(e, read)
                elif isinstance(e, Sum):
                    self._track_affine(e, node, i)

    def _track_affine(self, e: Sum, node: Node, i: int) -> None:
        """Stores the symbol of a size such as 2 s + 1. Other sums name none."""
        (symbol, factor), constant = e.terms[0], e.constant
        if len(e.terms) > 1 or not isinstance(symbol, Symbol):
            return

        def read() -> Node:
            size = self.node_of_size(node, i, e)
            if constant:
                size = self._call(operator.sub, (size, constant), e - constant)
            return size if factor == 1 else self._call(operator.floordiv, (size, factor), symbol)

        self.add_source(symbol, read)

    def add_source(self, symbol: Symbol, read: Callable[[], Node]) -> None:
        """Stores a source of a symbol, unless the symbol has one.

        Args:
            symbol: the symbol.
            read: creates the node that reads the symbol.
        """
        self._sources.setdefault(symbol, read)

    def has_node(self, e: Expr) -> bool:
        """Whether the graph computes an expression.

        Args:
            e: the expression.
        """
        return e in self._nodes

    # ---- the nodes of numbers
    def node_of(self, number: Any) -> Any:
        """The node that computes a symbolic number; a plain number if it is a constant.

        Args:
            number: the number.
        """
        _, size = self._dimensions.get(id(number.node), (None, None))
        return self.node_of_expr(number.node.expr, number.node.pytype) if size is None else size()

    def node_of_expr(self, e: Expr, pytype: type | None = None) -> Any:
        """The node that computes an expression; a plain number if it is a constant.

        Args:
            e: the expression.
            pytype: the type of a constant; None: its own.
        """
        if e.is_number:
            value = e.evaluate({})
            return value if pytype is None else pytype(value)
        node = self._nodes.get(e)
        if node is None:
            node = self._nodes[e] = self._lower(e)
        return node

    def node_of_size(self, node: Node, i: int, e: Expr) -> Node:
        """The node that reads a size of a tensor.

        Args:
            node: the node of the tensor.
            i: the dimension.
            e: the size as an expression.
        """
        size = self._sizes.get((node, i))
        if size is None:
            size = self._sizes[node, i] = self._call(
                tl_core.operators.packets.aten.sym_size.int, (node, i), e, after=node
            )
            self._nodes.setdefault(e, size)
        return size

    def number_of(self, e: Expr) -> Any:
        """The symbolic number of an expression.

        Args:
            e: the expression.
        """
        env = self._shape_env
        if isinstance(e, (Relation, Logic)):
            return env.create_symboolnode(e)
        hint = env.size_hint(e, allow_none=True)
        return env.create_symintnode(e, hint=hint) if e.is_integer else env.create_symfloatnode(e, hint=hint)

    def record_assertions(self, checks: list[Any] | None = None) -> None:
        """Records checks of numbers that only data decide.

        Args:
            checks: the checks of a subgraph; None: all checks outside of subgraphs.
        """
        if self._shape_env is None:
            return
        groups = self._shape_env.deferred_runtime_asserts.values() if checks is None else [checks]
        for check in [c for group in groups for c in group]:
            node = self.node_of_expr(self._simplify(check.expr), bool)
            if isinstance(node, Node):
                message = f"Runtime assertion failed for expression {check.expr}"
                self._recorder.tracer.graph.call_function(
                    tl_core.operators.packets.aten._assert_scalar.default, (node, message)
                )

    def _simplify(self, condition: Expr) -> Expr:
        """A condition by the facts of its symbols; the condition itself if these facts consist of it alone."""
        simple: Expr = self._shape_env.replace(condition)
        readable = self.symbol_from_outside is not None or condition.free_symbols <= self._sources.keys()
        return condition if simple.is_number and readable else simple

    # ---- expressions as calls
    def _call(self, target: Any, args: tuple[Any, ...], e: Expr | None, after: Node | None = None) -> Node:
        name = getattr(target, "overloadpacket", target).__name__
        if name == "sym_size":
            name = "sym_size_int"
        graph = self._recorder.tracer.graph
        if after is not None and after.graph is graph:
            while after.next.op == "placeholder":
                after = after.next
            with graph.inserting_after(after):
                node = self._recorder.create(target, args, {}, name)
        else:
            node = self._recorder.create(target, args, {}, name)
        if e is not None and self._shape_env is not None:
            node.meta["val"] = self.number_of(e)
        return node

    def _lower(self, e: Expr) -> Node:
        if isinstance(e, Symbol):
            return self._read(e)
        if isinstance(e, Sum):
            return self._lower_sum(e)
        if isinstance(e, Product):
            factors = [b for b, n in e.factors for _ in range(n)] if len(e.factors) > 1 else []
            if not factors:
                base, n = e.factors[0]
                return self._call(operator.pow, (self.node_of_expr(base), n), e)
            return self._lower_chain(operator.mul, factors)
        if isinstance(e, Relation):
            return self._call(_RELATIONS[e.rel_op], (self.node_of_expr(e.lhs), self.node_of_expr(e.rhs)), e)
        if isinstance(e, Logic):
            return self._lower_logic(e)
        if isinstance(e, Call):
            if e.name == "Piecewise":
                a, c, b = e.args
                args = (self.node_of_expr(c, bool), self.node_of_expr(a), self.node_of_expr(b))
                return self._call(tl_core.symbolic.arithmetic.sym_ite, args, e)
            return self._call(_function_of(e.name), tuple(self.node_of_expr(a) for a in e.args), e)
        raise TypeError(f"no node for {e}")

    def _read(self, symbol: Symbol) -> Node:
        source = self._sources.get(symbol)
        if source is None and self.symbol_from_outside is not None:
            return self.symbol_from_outside(symbol)
        if source is None:
            raise RuntimeError(f"{symbol} is the size of nothing in this graph")
        return source()

    def _lower_logic(self, e: Logic) -> Node:
        parts = [self.node_of_expr(a, bool) for a in e.args]
        if e.op == "not":
            return self._call(tl_core.symbolic.arithmetic.sym_not, (parts[0],), e)
        node: Node = parts[0]
        for part in parts[1:]:
            node = self._call(operator.and_ if e.op == "and" else operator.or_, (node, part), None)
        return node

    def _lower_chain(self, function: Any, parts: list[Expr]) -> Node:
        node, total = self.node_of_expr(parts[0]), parts[0]
        for part in parts[1:]:
            total = function(total, part)
            prefix = self._nodes.get(total)
            if prefix is None:
                prefix = self._nodes[total] = self._call(function, (node, self.node_of_expr(part)), total)
            node = prefix
        return node

    def _lower_sum(self, e: Sum) -> Node:
        total: Any = None
        prefix = sympify(0)
        for term, factor in sorted(e.terms, key=lambda item: item[1] < 0):
            prefix = prefix + term * factor
            if total is None:
                part = self.node_of_expr(term)
                total = part if factor == 1 else self._call(operator.mul, (part, factor), term * factor)
            elif factor < 0:
                total = self._call(operator.sub, (total, self.node_of_expr(term * -factor)), prefix)
            else:
                total = self._call(operator.add, (total, self.node_of_expr(term * factor)), prefix)
        if e.constant:
            total = self._call(operator.add, (total, e.constant), e)
        node: Node = total
        return node

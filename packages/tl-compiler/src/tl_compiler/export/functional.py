"""Programs without writes: what writes to a value becomes an operator that returns the new one."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core.base.rule_table import RuleTable
from tl_core.dispatch.modes import no_modes
from tl_core.operators.out_overloads import OutOperator
from tl_core.operators.packets import OpOverload
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx.graph import Graph
from ..fx.node import Node, map_arg
from ..higher_order.auto_functionalize import auto_functionalized, can_auto_functionalize, written_names
from ..tracer.schemas import schema_of

__all__ = ["functional_graph"]


@lru_cache(maxsize=4096)
def _returns_alias(target: Any) -> bool:
    """Whether an operator may return its first argument, or a view of it."""
    if not isinstance(target, OpOverload) or schema_of(target).writes:
        return False
    return any("Tensor" in kind for kind in schema_of(target).returns) and any(
        r.alias_info is not None for r in target._schema.returns
    )


def _is_view(node: Node) -> bool:
    """Whether the value of a node is a view of its first argument."""
    if not _returns_alias(node.target):
        return False
    if not node.target._can_decompose():  # type: ignore[union-attr]
        return True
    # Operators made of others copy where the layout allows no view: the example tells.
    args, kwargs = map_arg((tuple(node.args), dict(node.kwargs)), lambda n: _example(n.meta.get("val")))
    with no_modes():
        try:
            out = node.target(*args, **kwargs)  # type: ignore[operator]
        except (RuntimeError, TypeError):  # what is noted of the nodes is not enough
            return True
    first = out if isinstance(out, tl_core.Tensor) else out[0]
    return bool(first is args[0] or first._is_view())


def _example(value: Any) -> Any:
    """A tensor on meta, or a number, that stands for what is noted of a node."""
    if isinstance(value, FakeTensor):
        return value.elem
    return value.node.example() if isinstance(value, (SymInt, SymFloat, SymBool)) else value


def functional_graph(graph: Graph) -> tuple[Graph, dict[Node, Node], dict[Node, Node]]:
    """A graph that does the same without writing to values.

    Args:
        graph: the graph.

    Returns:
        The graph, its nodes by those of the other, and for each input that was written the node of its new value.
    """
    rewrite = _Functional(graph)
    rewrite.run()
    values = {
        n: rewrite.now[n]
        for n in rewrite.nodes
        if n.op == "placeholder" and rewrite.now[n] is not rewrite.nodes[n]
    }
    return rewrite.graph, rewrite.nodes, values


class _Functional:
    def __init__(self, source: Graph) -> None:
        self.source, self.graph = source, Graph()
        self.nodes: dict[Node, Node] = {}  # the first value
        self.now: dict[Node, Node] = {}  # the value as it is now
        self.viewed: dict[Node, Node] = {}  # what a node is a view of
        self.aliases: dict[Node, Node] = {}  # results of writes: what was written
        self.stale: set[Node] = set()

    def run(self) -> None:
        """Goes through the graph."""
        for node in self.source.nodes:
            target: Any = node.target
            if node.op == "output":
                self._output(node)
            elif node.op == "call_function" and isinstance(target, OpOverload) and schema_of(target).writes:
                self._write(node, target)
            elif node.op == "call_function" and str(target) == "aten.batch_norm.default":
                self._batch_norm(node)
            else:
                self._copy(node)

    def _copy(self, node: Node) -> None:
        copy = self.graph.node_copy(node, self._value)
        self.nodes[node] = self.now[node] = copy
        source = node.args[0] if node.args else None
        if not isinstance(source, Node):
            return
        if _is_view(node):
            self.viewed[node] = source
        elif node.target is operator.getitem and source in self.viewed:  # one of several views
            self.viewed[node] = self.viewed[source]

    def _output(self, node: Node) -> None:
        self.graph.output(map_arg(node.args[0], self._value))

    def _real(self, node: Node) -> Node:
        while node in self.aliases:
            node = self.aliases[node]
        return node

    def _value(self, node: Node) -> Node:
        """The value of a node as it is now; a view whose base was written is taken again."""
        node = self._real(node)
        if node in self.stale:
            self.stale.discard(node)
            view = self.graph.node_copy(node, self._value)
            self.now[node] = view
        return self.now[node]

    def _call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: Node) -> Node:
        call = self.graph.create_node("call_function", target, args, kwargs, target.overloadpacket.__name__)
        call.meta = dict(like.meta)
        return call

    def _write(self, node: Node, target: OpOverload) -> None:
        parameters = schema_of(target).arguments
        functional = _functional_of(target)
        outs = [a.name for a in target._schema.arguments if a.is_out]
        if functional is not None and outs:
            self._write_outs(node, functional, outs)
            return
        destination = node.args[0]
        if functional is None and can_auto_functionalize(target):
            self._write_copies(node, target)
            return
        if functional is None or not isinstance(destination, Node):
            raise NotImplementedError(
                f"{target} writes to an argument, and there is no operator that returns the result"
            )
        args = map_arg(tuple(node.args), self._value)
        kwargs = dict(map_arg(dict(node.kwargs), self._value))
        if target.overloadpacket.__name__ == "copy_":
            value = self._copy_into(node, destination, args)
        else:
            args = args[: len(parameters)]
            value = self._call(functional, tuple(args), kwargs, node)
            self._keep_dtype(value, destination)
        self.aliases[node] = self._real(destination)
        self.nodes[node] = value
        self._set(self._real(destination), value)

    def _write_outs(self, node: Node, functional: OpOverload, outs: list[str]) -> None:
        """The results of the operator without out tensors become the values of these."""
        args = map_arg(tuple(node.args), self._value)
        kwargs = dict(map_arg({k: v for k, v in node.kwargs.items() if k not in outs}, self._value))
        call = self._call(functional, tuple(args), kwargs, node)
        arguments = [node.kwargs[name] for name in outs]
        is_list = isinstance(arguments[0], (list, tuple))
        destinations: list[Any] = list(arguments[0]) if is_list else arguments
        is_single = len(outs) == 1 and not is_list
        values = [call] if is_single else [self._item(call, i, d) for i, d in enumerate(destinations)]
        self._cast(values, _dtypes_of(node, functional, outs), destinations)
        for destination, value in zip(destinations, values, strict=True):
            self._set(self._real(destination), value)
        self.nodes[node] = self.now[node] = values[0] if is_single else call
        if is_single:
            self.aliases[node] = self._real(destinations[0])

    def _cast(self, values: list[Node], dtypes: list[Any], destinations: list[Node]) -> None:
        """Puts results in the dtypes of their out tensors."""
        for i, (dtype, destination) in enumerate(zip(dtypes, destinations, strict=True)):
            example = destination.meta.get("val")
            if example is not None and example.dtype is not dtype:
                to = tl_core.operators.packets.aten._to_copy.default
                values[i] = self._call(to, (values[i],), {"dtype": example.dtype}, destination)

    def _write_copies(self, node: Node, target: OpOverload) -> None:
        """An operator of which nothing returns what it writes gets copies, which its call returns."""
        names = [a.name for a in target._schema.arguments]
        named = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
        kwargs = dict(map_arg(named, self._value))
        call = self.graph.create_node(
            "call_function", auto_functionalized, (target,), kwargs, auto_functionalized.__name__
        )
        call.meta = dict(node.meta)
        count = len(target._schema.returns)
        self.nodes[node] = self.now[node] = self._item(call, 0, node) if count == 1 else call
        for i, name in enumerate(written_names(target)):
            destination = named.get(name)
            if isinstance(destination, Node):
                self._set(self._real(destination), self._item(call, max(count, 1) + i, destination))

    def _item(self, call: Node, i: int, like: Node) -> Node:
        item = self.graph.create_node("call_function", operator.getitem, (call, i), {}, "getitem")
        item.meta = dict(like.meta)
        return item

    def _copy_into(self, node: Node, destination: Node, args: Any) -> Node:
        return self._call(tl_core.operators.packets.aten.copy.default, tuple(args), {}, node)

    def _keep_dtype(self, value: Node, destination: Node) -> None:
        """In-place operators keep the dtype of what they write."""
        example = destination.meta.get("val")
        if example is not None:
            value.meta["val"] = example

    def _set(self, node: Node, value: Node) -> None:
        """Gives a node a new value, and with it what it is a view of, and the other views of that."""
        self.now[node] = value
        for view, base in self.viewed.items():
            if self._real(base) is node and view is not node:
                self._forget(view)
        base = self.viewed.get(node)  # type: ignore[assignment]
        if base is not None:
            base = self._real(base)
            self._set_base(base, self._scatter(node, base, value), node)

    def _set_base(self, base: Node, value: Node, destination: Node) -> None:
        self.now[base] = value
        for view, viewed in self.viewed.items():
            if self._real(viewed) is base and view is not destination:
                self._forget(view)
        outer = self.viewed.get(base)
        if outer is not None:
            outer = self._real(outer)
            self._set_base(outer, self._scatter(base, outer, value), base)

    def _forget(self, view: Node) -> None:
        self.stale.add(view)
        for other, base in self.viewed.items():
            if self._real(base) is view:
                self._forget(other)

    def _scatter(self, view: Node, base: Node, value: Node) -> Node:
        """The value of a base where a view of it has a new value."""
        of_list = view.target is operator.getitem
        viewing: Node = view.args[0] if of_list else view
        target: Any = viewing.target
        write_back = (WRITTEN_BACK_OF_LISTS if of_list else WRITTEN_BACK).get(target.overloadpacket.__name__)
        if write_back is None:
            raise NotImplementedError(f"a write to the result of {target}")
        name, args, kwargs = write_back(self, view, base, value, *viewing.args[1:], **viewing.kwargs)
        packet = getattr(tl_core.operators.packets.aten, name)
        overload = "int" if name == "transpose" else "default"
        return self._call(getattr(packet, overload), args, kwargs, base)

    def sizes_now(self, node: Node) -> list[Any]:
        """The sizes of a value: numbers, and nodes where they are symbolic.

        Args:
            node: the value as it was first.
        """
        return [
            n
            if isinstance(n, int)
            else self._call(tl_core.operators.packets.aten.sym_size.int, (self.now[node], d), {}, node)
            for d, n in enumerate(node.meta["val"].shape)
        ]

    def _batch_norm(self, node: Node) -> None:
        """Statistics that are updated are results of another operator."""
        training = node.args[5] if len(node.args) > 5 else False
        if not training or not all(isinstance(a, Node) for a in node.args[3:5]):
            self._copy(node)
            return
        args = map_arg(tuple(node.args[:8]), self._value)
        call = self._call(
            tl_core.operators.packets.aten._native_batch_norm_legit_functional.default, args, {}, node
        )
        call.meta.pop("val", None)  # it returns more
        self.nodes[node] = self.now[node] = self._item(call, 0, node)
        for i, stat in enumerate(node.args[3:5], 3):
            self._set(self._real(stat), self._item(call, i, stat))


# ---- the value of a base, by the operator that made the view: an operator and its arguments
WRITTEN_BACK: RuleTable[Any] = RuleTable("writes to views")
WRITTEN_BACK_OF_LISTS: RuleTable[Any] = RuleTable("writes to views in lists")


def _by_scatter(name: str) -> Any:
    def write_back(f: _Functional, view: Node, base: Node, value: Node, *args: Any, **kwargs: Any) -> Any:
        rest, named = map_arg(tuple(args), f._value), dict(map_arg(kwargs, f._value))
        return name, (f.now[base], value, *rest), named

    return write_back


@WRITTEN_BACK.rule(
    *("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "view_as", "contiguous", "ravel"),
    *("_unsafe_view", "detach", "alias"),
)
def _by_sizes(f: _Functional, view: Node, base: Node, value: Node, *args: Any, **kwargs: Any) -> Any:
    return "reshape", (value, f.sizes_now(base)), {}


def _by_itself(name: str) -> Any:
    return lambda f, view, base, value, *args, **kwargs: (name, (value, *args), kwargs)


@WRITTEN_BACK.rule("permute")
def _inverse_permute(f: _Functional, view: Node, base: Node, value: Node, dims: Any) -> Any:
    order = [d % len(dims) for d in dims]
    return "permute", (value, [order.index(i) for i in range(len(order))]), {}


@WRITTEN_BACK_OF_LISTS.rule("unbind")
def _one_of_slices(f: _Functional, view: Node, base: Node, value: Node, dim: int = 0) -> Any:
    return "select_scatter", (f.now[base], value, dim, view.args[1]), {}


@WRITTEN_BACK_OF_LISTS.rule("split", "split_with_sizes", "chunk", "tensor_split")
def _one_of_pieces(f: _Functional, view: Node, base: Node, value: Node, size: Any, dim: int = 0) -> Any:
    pieces, at = view.args[0].meta["val"], view.args[1]
    sizes = [p.shape[dim] for p in pieces[: at + 1]]
    if any(not isinstance(n, int) for n in sizes):
        raise NotImplementedError("a write to a piece of a tensor whose pieces have symbolic sizes")
    return "slice_scatter", (f.now[base], value, dim, sum(sizes[:-1]), sum(sizes), 1), {}


def _dtypes_of(node: Node, functional: OpOverload, outs: list[str]) -> list[Any]:
    """The dtypes of the results of an operator on the arguments of a node, without its out tensors."""
    kwargs = {k: v for k, v in node.kwargs.items() if k not in outs}
    args, kwargs = map_arg((tuple(node.args), kwargs), lambda n: _example(n.meta.get("val")))
    with no_modes():
        results = functional(*args, **kwargs)
    return [r.dtype for r in (results if isinstance(results, (list, tuple)) else (results,))]


for _name in ("select", "slice", "diagonal", "as_strided"):
    WRITTEN_BACK.rule(_name)(_by_scatter(f"{_name}_scatter"))
for _name in ("transpose", "t"):
    WRITTEN_BACK.rule(_name)(_by_itself(_name))


# The operators that draw what others write, where the names differ.
_RANDOM_ROWS = {
    ("normal_", "default"): ("normal_functional", "default"),
    ("bernoulli_", "float"): ("bernoulli", "p"),
}


def _functional_of(target: OpOverload) -> Any:
    """The operator that returns what another writes."""
    packet, overload = target.overloadpacket.__name__, target._overloadname
    space = getattr(tl_core.operators.packets, target._name.partition("::")[0] or "aten")
    base = "zeros_like" if packet == "zero_" else packet.removesuffix("_")
    if packet == "copy_":
        return getattr(space, "copy", None) or target
    if (packet, overload) in _RANDOM_ROWS:
        base, overload = _RANDOM_ROWS[packet, overload]
    if isinstance(target, OutOperator):
        return target.base
    if overload == "out" or overload.endswith("_out"):
        base, overload = packet, overload.removesuffix("_out").removesuffix("out") or "default"
    overloads = getattr(space, base, None)
    if overloads is None:
        return None
    for name in (overload, "default", *overloads.overloads()):
        functional = getattr(overloads, name, None)
        if functional is not None and not schema_of(functional).writes and _fits(functional, target):
            return functional
    return None


def _fits(functional: OpOverload, target: OpOverload) -> bool:
    """Whether an operator takes the first argument of another: `add.Tensor` and not `add` of numbers."""
    parameters, target_parameters = functional._schema.arguments, target._schema.arguments
    return bool(parameters) and str(parameters[0].real_type) == str(target_parameters[0].real_type)

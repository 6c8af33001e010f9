"""Programs without writes: what writes to a value becomes an operator that returns the new one."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.ops
from tl_core.ops import OpOverload

from ..fx.graph import Graph
from ..fx.node import Node, map_arg
from ..tracer.schemas import schema_of

__all__ = ["functional_graph"]

_SCATTER = {
    "aten.select.int": "select_scatter",
    "aten.slice.Tensor": "slice_scatter",
    "aten.diagonal.default": "diagonal_scatter",
}
_RESHAPES = (
    "view",
    "reshape",
    "flatten",
    "unflatten",
    "unsqueeze",
    "squeeze",
    "detach",
    "alias",
    "contiguous",
)


def _is_view(target: Any) -> bool:
    if not isinstance(target, OpOverload):
        return False
    text = str(target)
    base = target.overloadpacket.__name__
    return text in _SCATTER or base in (
        *_RESHAPES,
        "transpose",
        "permute",
        "t",
        "expand",
        "view_as",
        "expand_as",
    )


def functional_graph(graph: Graph) -> tuple[Graph, dict[Node, Node], dict[Node, Node]]:
    """A graph that does the same without writing to values.

    Args:
        graph: the graph.

    Returns:
        The graph, its nodes by those of the other, and for each input that was written the node of its new value.
    """
    made = _Functional(graph)
    made.run()
    written = {
        n: made.now[n] for n in made.nodes if n.op == "placeholder" and made.now[n] is not made.nodes[n]
    }
    return made.graph, made.nodes, written


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
        made = self.graph.node_copy(node, self._value)
        self.nodes[node] = self.now[node] = made
        if _is_view(node.target) and isinstance(node.args[0], Node):
            self.viewed[node] = node.args[0]

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
            made = self.graph.node_copy(node, self._value)
            self.now[node] = made
        return self.now[node]

    def _call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: Node) -> Node:
        made = self.graph.create_node("call_function", target, args, kwargs, target.overloadpacket.__name__)
        made.meta = dict(like.meta)
        return made

    def _write(self, node: Node, target: OpOverload) -> None:
        parameters = schema_of(target).arguments
        functional = _functional_of(target)
        out = node.kwargs.get("out")
        written = out if isinstance(out, Node) else node.args[0]
        if functional is None or not isinstance(written, Node):
            raise NotImplementedError(
                f"{target} writes to an argument, and there is no operator that returns the result"
            )
        args = map_arg(tuple(node.args), self._value)
        kwargs = dict(map_arg({k: v for k, v in node.kwargs.items() if k != "out"}, self._value))
        if target.overloadpacket.__name__ == "copy_":
            made = self._copied(node, written, args)
        else:
            args = args[: len(parameters)]
            made = self._call(functional, tuple(args), kwargs, node)
            self._keep_dtype(made, written)
        self.aliases[node] = self._real(written)
        self.nodes[node] = made
        self._set(self._real(written), made)

    def _copied(self, node: Node, written: Node, args: Any) -> Node:
        return self._call(tl_core.ops.aten.copy.default, tuple(args), {}, node)

    def _keep_dtype(self, made: Node, written: Node) -> None:
        """In-place operators keep the dtype of what they write."""
        held = written.meta.get("val")
        if held is not None:
            made.meta["val"] = held

    def _set(self, node: Node, value: Node) -> None:
        """Gives a node a new value, and with it what it is a view of, and the other views of that."""
        self.now[node] = value
        for view, base in self.viewed.items():
            if self._real(base) is node and view is not node:
                self._forget(view)
        base = self.viewed.get(node)  # type: ignore[assignment]
        if base is not None:
            base = self._real(base)
            self._set_base(base, self._scattered(node, base, value), node)

    def _set_base(self, base: Node, value: Node, written: Node) -> None:
        self.now[base] = value
        for view, viewed in self.viewed.items():
            if self._real(viewed) is base and view is not written:
                self._forget(view)
        outer = self.viewed.get(base)
        if outer is not None:
            outer = self._real(outer)
            self._set_base(outer, self._scattered(base, outer, value), base)

    def _forget(self, view: Node) -> None:
        self.stale.add(view)
        for other, base in self.viewed.items():
            if self._real(base) is view:
                self._forget(other)

    def _scattered(self, view: Node, base: Node, value: Node) -> Node:
        """The value of a base where a view of it has a new value."""
        aten, target = tl_core.ops.aten, view.target
        name, rest = str(target), map_arg(tuple(view.args[1:]), self._value)
        held = self.now[base]
        if name in _SCATTER:
            operator_ = getattr(aten, _SCATTER[name]).default
            return self._call(operator_, (held, value, *rest), {}, base)
        kind = target.overloadpacket.__name__  # type: ignore[union-attr]
        if kind == "transpose":
            return self._call(aten.transpose.int, (value, *rest), {}, base)
        if kind == "t":
            return self._call(aten.t.default, (value,), {}, base)
        if kind == "permute":
            order = [d % len(rest[0]) for d in rest[0]]
            return self._call(
                aten.permute.default, (value, [order.index(i) for i in range(len(order))]), {}, base
            )
        if kind in _RESHAPES:
            val = base.meta["val"]
            if any(not isinstance(n, int) for n in val.shape):
                raise NotImplementedError(f"a write to a {kind} of a tensor with symbolic sizes")
            return self._call(aten.view.default, (value, list(val.shape)), {}, base)
        raise NotImplementedError(f"a write to the result of {target}")

    def _batch_norm(self, node: Node) -> None:
        """Statistics that are updated are copied first: the copies are their new values."""
        training = node.args[5] if len(node.args) > 5 else False
        stats = [a for a in node.args[3:5] if isinstance(a, Node)]
        if not training or not stats:
            self._copy(node)
            return
        copies = []
        for stat in stats:
            clone = self._call(tl_core.ops.aten.clone.default, (self._value(stat),), {}, stat)
            copies.append((self._real(stat), clone))
        args = list(map_arg(tuple(node.args), self._value))
        args[3:5] = [clone for _, clone in copies]
        made = self._call(node.target, tuple(args), dict(map_arg(dict(node.kwargs), self._value)), node)
        self.nodes[node] = self.now[node] = made
        for stat, clone in copies:
            self._set(stat, clone)


def _functional_of(target: OpOverload) -> Any:
    """The operator that returns what another writes."""
    packet, overload = target.overloadpacket.__name__, target._overloadname
    space = getattr(tl_core.ops, target._name.partition("::")[0] or "aten")
    base = packet.removesuffix("_")
    if packet == "copy_":
        return getattr(space, "copy", None) or target
    if overload == "out" or overload.endswith("_out"):
        base, overload = packet, overload.removesuffix("_out").removesuffix("out") or "default"
    found = getattr(space, base, None)
    if found is None:
        return None
    for name in (overload, "default", *found.overloads()):
        made = getattr(found, name, None)
        if made is not None and not schema_of(made).writes:
            return made
    return None

"""Graphs made quicker for inference."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import tl_nn
from tl_compiler.fx._symbolic_trace import Tracer, symbolic_trace
from tl_compiler.fx.graph import Graph
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import Argument, Node, Target
from tl_nn.utils.fusion import fuse_conv_bn_eval

__all__ = [
    "UnionFind",
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
]

_FUSED = (
    (tl_nn.Conv1d, tl_nn.BatchNorm1d),
    (tl_nn.Conv2d, tl_nn.BatchNorm2d),
    (tl_nn.Conv3d, tl_nn.BatchNorm3d),
)


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node and the one before it call modules of two classes.

    Args:
        pattern: the classes, the earlier one first.
        node: the node.
        modules: the modules by path.

    Returns:
        True if they do.
    """
    if not node.args or not isinstance(node.args[0], Node):
        return False
    for expected, current in zip(pattern, (node.args[0], node), strict=False):
        if current.op != "call_module" or not isinstance(current.target, str):
            return False
        if type(modules.get(current.target)) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: tl_nn.Module) -> None:
    """Puts another module where a node calls one.

    Args:
        node: the node.
        modules: the modules by path, changed in place.
        new_module: the module.
    """
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: tl_nn.Module, inplace: bool = False, no_trace: bool = False) -> tl_nn.Module:
    """Folds batch norms into the convolutions before them, for inference.

    Args:
        model: the module, in evaluation mode.
        inplace: whether it may be changed.
        no_trace: whether it is a graph module already.

    Returns:
        A graph module without these batch norms. Its results differ from the model's in the last bits.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Conv2d(3, 8, 3), tl_nn.BatchNorm2d(8)).eval()
        >>> [type(layer).__name__ for layer in fuse(model).children()]
        ['Conv2d']
    """
    own = model if inplace else copy.deepcopy(model)
    traced = own if no_trace and isinstance(own, GraphModule) else symbolic_trace(own)
    modules: dict[str, Any] = dict(traced.named_modules())
    graph = traced.graph
    for pattern in _FUSED:
        for node in list(graph.nodes):
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            conv, norm = modules[node.args[0].target], modules[str(node.target)]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: tl_nn.Module) -> tl_nn.Module:
    """Leaves dropout out of a module.

    Args:
        model: the module.

    Returns:
        A graph module.

    Example:
        >>> made = remove_dropout(tl_nn.Sequential(tl_nn.Dropout(), tl_nn.ReLU()))
        >>> [node.target for node in made.graph.find_nodes(op="call_module")]
        ['1']
    """
    from tl_compiler.fx.interpreter import Transformer

    class DropoutRemover(Transformer):
        """Gives the argument of dropout in the place of its result."""

        def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
            """The argument, or the recorded call."""
            if isinstance(
                self.fetch_attr(str(target)),
                (tl_nn.Dropout, tl_nn.Dropout1d, tl_nn.Dropout2d, tl_nn.Dropout3d),
            ):
                return args[0]
            return super().call_module(target, args, kwargs)

    traced = model if isinstance(model, GraphModule) else symbolic_trace(model)
    return DropoutRemover(traced).transform()


def extract_subgraph(
    orig_module: tl_nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """A module of some nodes of a graph.

    Args:
        orig_module: the module that has their attributes.
        nodes: the nodes, in order.
        inputs: the nodes that they use.
        outputs: those of them that it returns.

    Returns:
        The module.
    """
    graph = Graph()
    copies: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


class UnionFind:
    """Sets that are joined.

    Args:
        n: the number of items; none is in a set yet.

    Example:
        >>> sets = UnionFind(3)
        >>> for i in range(3): sets.make_set(i)
        >>> sets.join(0, 2)
        >>> sets.find(0) == sets.find(2), sets.find(1) == sets.find(2)
        (True, False)
    """

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size = [0] * n

    def make_set(self, v: int) -> None:
        """Puts an item into a set of its own.

        Args:
            v: the item.
        """
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """The item that stands for a set.

        Args:
            v: an item of it.

        Returns:
            The other item.
        """
        while True:
            above = self.parent[v]
            if above is None:
                raise AssertionError(f"item {v} is in no set")
            if above == v:
                return v
            self.parent[v] = self.parent[above]  # the next look-up has half the way
            v = above

    def join(self, a: int, b: int) -> None:
        """Joins two sets.

        Args:
            a, b: an item of each.
        """
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]


def optimize_for_inference(
    model: tl_nn.Module, pass_config: dict[str, Any] | None = None, tracer: type[Tracer] = Tracer
) -> tl_nn.Module:
    """Removes dropout and folds batch norms, for inference.

    Layouts need no pass here: convolutions choose theirs by themselves, so `mkldnn_layout_optimize` changes nothing.

    Args:
        model: the module, in evaluation mode.
        pass_config: `conv_bn_fuse` and `remove_dropout`, True unless set.
        tracer: the class that traces it.

    Returns:
        A graph module. Its results differ from the model's in the last bits.

    Raises:
        RuntimeError: a pass isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(3, 8), tl_nn.Dropout(0.5)).eval()
        >>> optimize_for_inference(model)(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """
    passes: dict[str, Any] = {"conv_bn_fuse": True, "remove_dropout": True, "mkldnn_layout_optimize": {}}
    unknown = set(pass_config or ()) - set(passes)
    if unknown:
        raise RuntimeError(f"pass_config: {sorted(unknown)} are none of {sorted(passes)}")
    passes.update(pass_config or {})
    if passes["conv_bn_fuse"]:
        model = fuse(model)
    if passes["remove_dropout"]:
        model = remove_dropout(model)
    if isinstance(model, GraphModule):
        return model
    graph_tracer = tracer()
    return GraphModule(model, graph_tracer.trace(copy.deepcopy(model)))

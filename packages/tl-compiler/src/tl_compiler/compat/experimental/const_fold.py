"""What a graph computes from its own attributes alone, computed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn
from tl_compiler.fx._symbolic_trace import symbolic_trace
from tl_compiler.fx.graph import Graph
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import Node, map_arg

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]

_NAME = "_FX_CONST_FOLDED_ATTRS"


class FoldedGraphModule(GraphModule):
    """A module that computes its constant part when it is called first.

    Args:
        root: the attributes.
        graph: the graph, which reads what the constant part gives.
        const_subgraph: the constant part; None if there is none.
        fx_const_folded_attrs_name: under which name its results are kept, with a number if there are several.
        device_for_folded_attrs: where they are kept.
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Computes the constant part; done by the first call."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("the constant part has been computed already")
        self.has_folding_been_run = True
        results = self.const_subgraph_module()
        name = self.fx_const_folded_attrs_name
        if not isinstance(results, tuple):
            self._keep(name, results)
            return
        for i, result in enumerate(results):
            self._keep(f"{name}_{i}", result)

    def _keep(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            delattr(self, name)
        if not isinstance(value, tl_core.Tensor):
            setattr(self, name, value)
            return
        constant = value.detach().to(self.device_for_folded_attrs)
        setattr(self, name, tl_nn.Parameter(constant, requires_grad=value.requires_grad))


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name that no attribute of a module has.

    Args:
        mod_traced: the module.
        name: the name that is wanted; a number is added or raised where it is taken.

    Returns:
        The name.

    Example:
        >>> import tl_nn
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(tl_nn.ReLU())
        >>> get_unique_attr_name_in_module(module, "folded")
        'folded'
    """
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        numbered = re.match(r"(.*)_(\d+)$", name)
        name = f"{numbered[1]}_{int(numbered[2]) + 1}" if numbered else f"{name}_1"
    return name


def split_const_subgraphs(
    module: Any,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """Splits a module into what depends on its inputs and what doesn't.

    Args:
        module: the module; one that is no graph yet is traced.
        skip_folding_node_fn: nodes that stay although they depend on no input.
        device_for_folded_attrs: where the results of the constant part are kept.

    Returns:
        A module that computes the constant part once.

    Example:
        >>> class Shifted(tl_nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.shift = tl_nn.Parameter(tl_core.ones(1), requires_grad=False)
        ...     def forward(self, x):
        ...         return x + (self.shift * 2).exp()
        >>> folded = split_const_subgraphs(Shifted())
        >>> [node.op for node in folded.graph.nodes], folded(tl_core.zeros(1)).item() > 7
        (['placeholder', 'get_attr', 'call_function', 'output'], True)
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    outputs = [
        node
        for node in traced.graph.nodes
        if node in constant and node.op != "get_attr" and any(user not in constant for user in node.users)
    ]
    name = get_unique_attr_name_in_module(traced, _NAME)
    names = [name] if len(outputs) == 1 else [f"{name}_{i}" for i in range(len(outputs))]
    const_graph, main = Graph(), Graph()
    in_const: dict[Node, Node] = {}
    in_main: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node in constant:
            in_const[node] = const_graph.node_copy(node, lambda n: in_const[n])
    results = tuple(in_const[node] for node in outputs)
    const_graph.output(results[0] if len(results) == 1 else results)
    const_graph.eliminate_dead_code()
    for node in traced.graph.nodes:
        if node in outputs:
            in_main[node] = main.get_attr(names[outputs.index(node)])
            in_main[node].meta = node.meta.copy()
        elif node not in constant or (
            node.op == "get_attr" and any(user not in constant for user in node.users)
        ):
            if node.op == "output":
                main.output(map_arg(node.args[0], lambda n: in_main[n])).meta = node.meta.copy()
            else:
                in_main[node] = main.node_copy(node, lambda n: in_main[n])
    main._codegen = traced.graph._codegen
    for attribute in names:
        setattr(traced, attribute, None)  # it is filled when the module is called first
    folded = FoldedGraphModule(traced, main, const_graph, name, device_for_folded_attrs)
    for attribute in names:
        delattr(traced, attribute)
    return folded


def _constant_nodes(traced: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    constants: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes) <= constants:
            continue
        if node.op != "get_attr" and not node.all_input_nodes:
            continue  # a factory, or a draw from the generator
        if (skip is not None and node.op != "get_attr" and skip(node)) or node.is_impure():
            continue
        if node.op == "call_module" and _has_training_state(traced, node):
            continue
        constants.add(node)
    return constants


def _has_training_state(traced: GraphModule, node: Node) -> bool:
    """Whether a module may give another result the next time."""
    module = traced.get_submodule(str(node.target))
    return module.training and isinstance(module, (tl_nn.Dropout, tl_nn.BatchNorm1d, tl_nn.BatchNorm2d))

"""A model with copies of each layer in several configurations, which run on the layer's inputs."""

from __future__ import annotations

import operator
import warnings
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import tl_core
from tl_compiler.fx import Graph, GraphModule, Interpreter, Node
from tl_core import Tensor
from tl_core.pytree import tree_map
from tl_nn import Module

from ..graph.match_utils import Match
from ..graph.quantize_fx import prepare_fx
from ..qconfig_mapping import QConfigMapping
from .fx_loggers import OutputComparisonLogger, OutputLogger
from .node_facts import get_normalized_nth_input, get_target_type_str, scoped_name
from .results import NSResultsType, NSSingleResultValuesType

__all__ = [
    "OutputProp",
    "create_add_loggers_graph",
    "create_n_transformed_and_logged_copies_of_subgraph",
    "create_one_transformed_and_logged_copy_of_subgraph",
    "create_results_comparison",
    "create_submodule_from_subgraph",
    "group_results_by_subgraph",
    "print_n_shadows_summary",
    "subgraphs_of",
]

SHADOW_NODE_NAME_PREFIX = "shadow"
SHADOW_WRAPPER_NODE_NAME_PREFIX = "shadow_wrapper"
_BINARY = {tl_core.add, tl_core.Tensor.add, operator.add, tl_core.mul, tl_core.Tensor.mul, operator.mul}
_OUTPUT = NSSingleResultValuesType.NODE_OUTPUT.value


class OutputProp:
    """Runs a model and stores the tensor that each node returns as `node.traced_result`.

    Args:
        mod: the graph module.
    """

    def __init__(self, mod: GraphModule) -> None:
        self.mod = mod

    def propagate(self, *args: Any) -> None:
        """Runs the model.

        Args:
            args: its arguments.
        """

        class Recorder(Interpreter):
            def run_node(self, n: Node) -> Any:
                result = super().run_node(n)
                if isinstance(result, Tensor) and n.op != "output":
                    n.traced_result = result  # type: ignore[attr-defined]  # nodes take attributes
                return result

        Recorder(self.mod).run(*args)


def subgraphs_of(matches: dict[str, Match]) -> dict[str, list[Node]]:
    """The nodes of each layer in their order, by the name of its last node.

    Args:
        matches: the matches of a graph by the names of their nodes.
    """
    each = {id(match): match for match in reversed(matches.values())}
    return {match.last.name: match.members[::-1] for match in each.values()}


def _arguments(node: Node) -> list[Any]:
    return [*node.args, *node.kwargs.values()]


def create_submodule_from_subgraph(model: Module, first_node: Node, last_node: Node) -> GraphModule:
    """A copy of a chain of nodes as a module of its own.

    Args:
        model: the model.
        first_node: the first node, whose inputs are the module's.
        last_node: the last node.

    Raises:
        AssertionError: a node of the chain has several users, or takes other inputs than the node before it.
    """
    graph, modules = Graph(), Module()
    names: set[str] = set()

    def placeholder(arg: Any) -> Any:
        if not isinstance(arg, Node):
            return arg
        number = 0
        while (name := f"{arg.name}_{number}") in names:
            number += 1
        names.add(name)
        return graph.placeholder(name)

    node, copied, number = first_node, None, 0
    while True:
        if copied is None:
            args = tuple(
                [placeholder(x) for x in arg] if isinstance(arg, (list, tuple)) else placeholder(arg)
                for arg in node.args
            )
            kwargs = {
                name: [placeholder(x) for x in arg] if isinstance(arg, (list, tuple)) else placeholder(arg)
                for name, arg in node.kwargs.items()
            }
        else:
            _check_inner(node)
            args, kwargs = (copied, *node.args[1:]), dict(node.kwargs)
        target = node.target
        if node.op == "call_module":
            target = f"mod_{number}"
            setattr(modules, target, deepcopy(model.get_submodule(str(node.target))))
            number += 1
        copied = graph.create_node(node.op, target, args, kwargs)
        if node is last_node:
            break
        if len(node.users) != 1:
            raise AssertionError(f"{node.name} of a chain must have one user, but has {len(node.users)}")
        node = next(iter(node.users))
    graph.output(copied)
    return GraphModule(modules, graph)


def _check_inner(node: Node) -> None:
    if node.target in _BINARY or any(isinstance(arg, (Node, list, tuple)) for arg in _arguments(node)[1:]):
        raise AssertionError(f"{node.name} within a chain must have one input")


class Layer(NamedTuple):
    """A layer of a model whose copies are compared.

    Args:
        model: the model.
        number: the layer's number.
        first: its first node.
        last: its last node.
        scope: the name of the module in whose call it was recorded.
    """

    model: GraphModule
    number: int
    first: Node
    last: Node
    scope: str | None

    def add_logger(
        self, candidate: int, kind: Callable[..., Any], qconfig: str, args: tuple[Node, ...]
    ) -> Node:
        """Adds a logger behind the first one of some nodes.

        Args:
            candidate: the number of the copy, 0 for the layer itself.
            kind: the class of the logger.
            qconfig: the configuration of the copy, as a string.
            args: the nodes whose results it takes.
        """
        model = self.model
        logger = kind(
            self.first.name, self.last.name, f"subgraph_{self.number}_{candidate}", "model",
            get_target_type_str(self.last, model), get_target_type_str(self.first, model), _OUTPUT, 0, 0,
            self.scope or "", qconfig,
        )  # fmt: skip
        logger.enabled = False  # values of the calibration don't count
        name = f"{SHADOW_NODE_NAME_PREFIX}_{self.number}_{candidate}"
        _set_new(model, name, logger)
        with model.graph.inserting_after(args[0]):
            return model.graph.call_module(name, args)


def _set_new(model: Module, name: str, value: Any) -> None:
    if hasattr(model, name):
        raise AssertionError(f"the model has an attribute {name!r} already")
    setattr(model, name, value)


def create_one_transformed_and_logged_copy_of_subgraph(
    mt: GraphModule,
    subgraph_idx: int,
    subgraph_candidate_idx: int,
    first_node: Node,
    last_node: Node,
    fqn: str | None,
    list_of_node_name_to_qconfig: list[dict[str, Any]],
    example_inputs: Any,
    last_added_shadow_node_list: list[Node | None],
    custom_prepare_fn: Callable[..., Any] | None = None,
    custom_prepare_kwargs: dict[str, Any] | None = None,
) -> None:
    """Adds a copy of a layer in one configuration and a logger that compares the copy with the layer.

    Args:
        mt: the model, which is changed.
        subgraph_idx: the number of the layer.
        subgraph_candidate_idx: the number of the copy. For 0, the layer itself gets a logger.
        first_node: the first node of the layer.
        last_node: its last node.
        fqn: the name of the module in whose call the layer was recorded.
        list_of_node_name_to_qconfig: for each copy, the configurations by the names of nodes.
        example_inputs: the inputs of the layer.
        last_added_shadow_node_list: a list with the node behind which the copy is inserted. Gets the new last node.
        custom_prepare_fn: a function in place of `prepare_fx`.
        custom_prepare_kwargs: further arguments of it.
    """
    layer = Layer(mt, subgraph_idx, first_node, last_node, fqn)
    if subgraph_candidate_idx == 0:
        last_added_shadow_node_list[0] = layer.add_logger(0, OutputLogger, "", (last_node,))
        return
    qconfig = list_of_node_name_to_qconfig[subgraph_candidate_idx - 1][first_node.name]
    if qconfig is None:
        return
    part = create_submodule_from_subgraph(mt, first_node, last_node)
    mapping = QConfigMapping().set_global(qconfig)
    settings = {"example_inputs": example_inputs, "qconfig_mapping": mapping}
    overrides = custom_prepare_kwargs or {}
    for name in ("example_inputs", "prepare_custom_config", "qconfig_mapping"):
        if name in overrides:
            raise AssertionError(f"cannot specify {name} in custom_prepare_kwargs")
    if custom_prepare_fn is None:
        part = prepare_fx(part, mapping, example_inputs=example_inputs)
    else:
        part = custom_prepare_fn(part, **settings, **overrides)
    name = f"{SHADOW_WRAPPER_NODE_NAME_PREFIX}_{subgraph_idx}_{subgraph_candidate_idx}"
    _set_new(mt, name, part)
    after = last_added_shadow_node_list[0]
    assert after is not None  # the logger of the layer itself
    args = [x for arg in first_node.args for x in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    kwargs = {key: arg for key, arg in first_node.kwargs.items() if isinstance(arg, Node)}
    args += [x for arg in first_node.kwargs.values() if isinstance(arg, (list, tuple)) for x in arg]
    with mt.graph.inserting_after(after):
        call = mt.graph.call_module(name, tuple(arg for arg in args if isinstance(arg, Node)), kwargs)
    last_added_shadow_node_list[0] = layer.add_logger(
        subgraph_candidate_idx, OutputComparisonLogger, str(qconfig), (call, last_node)
    )
    mt.recompile()


def create_n_transformed_and_logged_copies_of_subgraph(
    mt: GraphModule,
    subgraph_idx: int,
    match_name: str,
    nodes_in_this_subgraph: list[Any],
    qconfig_mappings: list[QConfigMapping],
    list_of_node_name_to_qconfig: list[dict[str, Any]],
    custom_prepare_fn: Callable[..., Any] | None = None,
    custom_prepare_kwargs: dict[str, Any] | None = None,
) -> None:
    """Adds a copy of a layer for each configuration.

    Args:
        mt: the model, which is changed. Its nodes have `traced_result`.
        subgraph_idx: the number of the layer.
        match_name: the name of the layer.
        nodes_in_this_subgraph: its nodes.
        qconfig_mappings: the tables of configurations.
        list_of_node_name_to_qconfig: for each table, the configurations by the names of nodes.
        custom_prepare_fn: a function in place of `prepare_fx`.
        custom_prepare_kwargs: further arguments of it.

    Warns:
        UserWarning: the layer has no example of its input, or no configuration.
    """
    if any(not isinstance(node, Node) for node in nodes_in_this_subgraph):
        return
    first, last = nodes_in_this_subgraph[0], nodes_in_this_subgraph[-1]
    before = get_normalized_nth_input(first, mt, 0)
    sources = list(before) if isinstance(before, (list, tuple)) else [before]
    if not all(hasattr(source, "traced_result") for source in sources):
        warnings.warn(f"the layer {match_name} is skipped: its input is no tensor", stacklevel=3)
        return
    if all(table[first.name] is None for table in list_of_node_name_to_qconfig):
        warnings.warn(f"the layer {match_name} is skipped: it has no configuration", stacklevel=3)
        return
    examples = tuple(source.traced_result for source in sources)
    scope = scoped_name(first, mt)
    behind: list[Node | None] = [None]
    for candidate in range(len(qconfig_mappings) + 1):
        create_one_transformed_and_logged_copy_of_subgraph(
            mt, subgraph_idx, candidate, first, last, scope, list_of_node_name_to_qconfig, examples, behind,
            custom_prepare_fn, custom_prepare_kwargs,
        )  # fmt: skip


# ---- errors that propagate -------------------------------------------------------------------------------------------


def create_add_loggers_graph(
    model: GraphModule,
    subgraphs_dedup: dict[str, list[Node]],
    qconfig_mapping: QConfigMapping,
    node_name_to_qconfig: dict[str, Any],
) -> None:
    """Adds a second chain of all layers, in which each layer takes the results of the copies before it.

    Args:
        model: the model, which is changed.
        subgraphs_dedup: the nodes of each layer.
        qconfig_mapping: the table of configurations.
        node_name_to_qconfig: the configurations by the names of nodes. Layers without one are copied as they are.
    """
    owner = {node: nodes for nodes in subgraphs_dedup.values() for node in nodes}
    chains: list[list[Node]] = []
    for node in list(model.graph.nodes):
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        nodes = owner.get(node, [node])
        if node is nodes[0]:
            chains.append(nodes)
    copies: dict[Node, tuple[Node, Node]] = {}  # of a layer's nodes: the copy's input and result
    for index, nodes in enumerate(chains):
        qconfig = node_name_to_qconfig[nodes[0].name] if nodes[0] in owner else None
        if qconfig is None:
            ends = _copy_plain(model, index, nodes)
        else:
            create_n_transformed_and_logged_copies_of_subgraph(
                model, index, nodes[0].name, nodes, [qconfig_mapping], [node_name_to_qconfig]
            )
            name = f"{SHADOW_WRAPPER_NODE_NAME_PREFIX}_{index}_1"
            call = next((n for n in model.graph.nodes if n.target == name), None)
            if call is None:
                raise AssertionError(f"the layer {nodes[0].name} has no copy")
            ends = (call, call)
        copies.update((node, ends) for node in nodes)

    def shadow_of(arg: Any) -> Any:
        return copies[arg][1] if arg in copies else arg

    for nodes in chains:
        first = copies[nodes[0]][0]
        first.args = _map_arguments(first.args, shadow_of)
        first.kwargs = _map_arguments(first.kwargs, shadow_of)
    model.graph.lint()
    model.recompile()


def _map_arguments(args: Any, change: Callable[[Any], Any]) -> Any:
    return tree_map(lambda arg: change(arg) if isinstance(arg, Node) else arg, args)


def _copy_plain(model: GraphModule, index: int, nodes: list[Node]) -> tuple[Node, Node]:
    layer = Layer(model, index, nodes[0], nodes[-1], scoped_name(nodes[0], model))
    after = layer.add_logger(0, OutputLogger, "", (nodes[-1],))
    copied: list[Node] = []
    for node in nodes:
        args = (copied[-1], *node.args[1:]) if copied else node.args
        with model.graph.inserting_after(after):
            after = model.graph.create_node(node.op, node.target, args, node.kwargs)
        copied.append(after)
    layer.add_logger(1, OutputComparisonLogger, "", (after, nodes[-1]))
    return copied[0], copied[-1]


# ---- results ---------------------------------------------------------------------------------------------------------


def group_results_by_subgraph(results: NSResultsType) -> dict[str, dict[str, Any]]:
    """The results of the copies by the name of their layer and the number of the copy.

    Args:
        results: the results of `extract_results_n_shadows_model`.
    """
    (first, *_) = results["model"].values()
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    names = ("ref_node_name", "ref_node_target_type", "fqn", "values", "qconfig_str", "comparisons")
    for name, entries in first.items():
        layer, _, candidate = name.rpartition("_")
        entry = {key: entries[0][key] for key in (*names, "comparison_fn_name")}
        groups[layer][candidate] = entry
    return dict(groups)


def create_results_comparison(results_grouped: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The measures of each copy, call by call and their mean.

    Args:
        results_grouped: the results of `group_results_by_subgraph`.
    """
    result = {}
    for name, copies in results_grouped.items():
        candidates = {}
        for number, entry in copies.items():
            if number == "0":
                continue
            measures = tl_core.stack(entry["comparisons"])
            candidates[number] = {
                "qconfig_str": entry["qconfig_str"],
                "comparison_fn_name": entry["comparison_fn_name"],
                "cmp_raw": measures,
                "cmp_mean": measures.mean(),
            }
        own = copies["0"]
        result[name] = {key: own[key] for key in ("ref_node_name", "ref_node_target_type", "fqn")}
        result[name]["candidates"] = candidates
    return result


def print_n_shadows_summary(results_comparison: dict[str, Any]) -> None:
    """Prints a table of the mean measures, a line for each layer.

    Args:
        results_comparison: the results of `create_results_comparison`.

    Example:
        >>> one = {"ref_node_name": "fc", "ref_node_target_type": "Linear", "fqn": "fc",
        ...        "candidates": {"1": {"cmp_mean": 40.0}}}
        >>> print_n_shadows_summary({"subgraph_0": one})
        node_name    node_type    fqn      0
        -----------  -----------  -----  ---
        fc           Linear       fc      40
    """
    rows = [
        [str(data["ref_node_name"]), str(data["ref_node_target_type"]), str(data["fqn"])]
        + [f"{float(each['cmp_mean']):g}" for each in data["candidates"].values()]
        for data in results_comparison.values()
    ]
    columns = max((len(row) for row in rows), default=3)
    header = ["node_name", "node_type", "fqn", *(str(i) for i in range(columns - 3))]
    rows = [row + [""] * (columns - len(row)) for row in rows]
    # A header has two spaces more than its own length, as in tables of `tabulate`.
    widths = [max([len(name) + 2, *(len(row[i]) for row in rows)]) for i, name in enumerate(header)]
    lines = [header, ["-" * width for width in widths], *rows]
    for line in lines:
        cells = [
            c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())

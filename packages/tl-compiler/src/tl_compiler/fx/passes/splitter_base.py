"""Splitting a graph into parts for an accelerator and parts for the processor."""

from __future__ import annotations

import argparse
import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tl_core
import tl_nn

from ..graph_module import GraphModule
from ..node import Node
from .operator_support import OperatorSupportBase
from .shape_prop import ShapeProp
from .split_utils import split_by_tags
from .tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    NodeList,
    NodeSet,
    Tensors,
    get_node_target,
    is_node_output_tensor,
)

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]

DEFAULT_MIN_ACC_MODULE_SIZE = 1
DEFAULT_SKIP_FUSION = False
DEFAULT_ALLOW_NON_TENSOR = False


class _SplitterSettingBase:
    """Settings of a splitter.

    Args:
        min_acc_module_size: parts for the accelerator with fewer nodes stay on the processor.
        skip_fusion: whether nodes that pass each other no tensors may be parted.
        allow_non_tensor: whether parts may be passed values that are no tensors.
        max_acc_splits: the largest number of parts for the accelerator; -1: any.
    """

    def __init__(
        self,
        min_acc_module_size: int = DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion: bool = DEFAULT_SKIP_FUSION,
        allow_non_tensor: bool = DEFAULT_ALLOW_NON_TENSOR,
        max_acc_splits: int = -1,
    ) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("--min-acc-module-size", "--min_acc_module_size", type=int)
        parser.add_argument("--max-acc-splits", "--max_acc_splits", type=int)
        parser.add_argument("--skip-fusion", "--skip_fusion", action="store_true")
        parser.add_argument("--allow-non-tensor", "--allow_non_tensor", action="store_true")
        args, _ = parser.parse_known_args([])
        self.min_acc_module_size = args.min_acc_module_size or min_acc_module_size
        self.skip_fusion = args.skip_fusion or skip_fusion
        self.allow_non_tensor = args.allow_non_tensor or allow_non_tensor
        self.max_acc_splits = max_acc_splits


class FxNetAccNodesFinder:
    """Finds the nodes that an accelerator runs: supported ones whose values are tensors, as far as others get them.

    Args:
        module: the module, with shapes propagated.
        operator_support: what it supports.
        allow_non_tensor: whether values that are no tensors may leave it.
    """

    def __init__(
        self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool
    ) -> None:
        self.module = module
        self.operator_support = operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: NodeList) -> None:
        """Takes the users of nodes that stay on the processor and give no tensors.

        Args:
            cpu_worklist: the nodes; is emptied.
        """
        while cpu_worklist:
            for user in cpu_worklist.pop(0).users:
                if user in self.acc_nodes:
                    self.acc_nodes.remove(user)
                    if not is_node_output_tensor(user):
                        cpu_worklist.append(user)

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Takes the nodes that get no tensors from the processor."""
        outside = [
            node
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and node not in self.acc_nodes and not is_node_output_tensor(node)
        ]
        self.reduce_acc_nodes_non_tensor_input_helper(outside)

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Takes the nodes that give the processor something else than tensors."""
        while True:
            leaving = [
                node
                for node in self.acc_nodes
                if not is_node_output_tensor(node) and any(user not in self.acc_nodes for user in node.users)
            ]
            if not leaving:
                return
            self.acc_nodes -= set(leaving)
            self.reduce_acc_nodes_non_tensor_input_helper(leaving)

    def __call__(self) -> NodeSet:
        modules = dict(self.module.named_modules())
        self.acc_nodes = {
            node
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and self.operator_support.is_node_supported(modules, node)
        }
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        return self.acc_nodes


class FxNetSplitterInternalError(Exception):
    """The splitter did something that it should not."""


@dataclass
class Subgraph:
    """A part: whether it is for the accelerator, its nodes, its device.

    Args:
        is_acc: whether it is for the accelerator.
        nodes: its nodes.
        device_ordinal: its device; None for any.

    Example:
        >>> Subgraph(is_acc=True, nodes=[]).is_acc
        True
    """

    is_acc: bool
    nodes: NodeList
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """The split module, the inputs of its parts by name, and the prefix of parts that stay on the processor.

    Args:
        split_module: the split module.
        submodule_inputs: the inputs of its parts, by name.
        non_acc_submodule_prefix: how names of the others begin.

    Example:
        >>> SplitResult(None, {}, "_run_on_cpu_").non_acc_submodule_prefix
        '_run_on_cpu_'
    """

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


def generate_inputs_for_submodules(
    model: tl_nn.Module, inputs: Sequence[Any], target_submodules: Iterable[str], deepcopy: bool = False
) -> dict[str, Any]:
    """Runs a module and notes what some submodules are called with.

    Args:
        model: the module.
        inputs: its inputs.
        target_submodules: the paths of the submodules.
        deepcopy: whether what is noted is copied.

    Returns:
        The inputs by path.

    Example:
        >>> layers = tl_nn.Sequential(tl_nn.Identity(), tl_nn.ReLU())
        >>> generate_inputs_for_submodules(layers, (tl_core.ones(1),), ["1"])
        {'1': (tensor([1.]),)}
    """
    inputs_of: dict[str, Any] = {}
    names = {module: name for name, module in model.named_modules() if name in target_submodules}
    handles = [
        module.register_forward_pre_hook(
            lambda m, args: inputs_of.__setitem__(names[m], copy.deepcopy(args) if deepcopy else args)
        )
        for module in names
    ]
    try:
        with tl_core.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return inputs_of


class _SplitterBase:
    """Splits a module into parts that are called one after the other, some for an accelerator.

    Subclasses write `_lower_model_to_backend`, and may say which nodes the accelerator runs in `find_acc_nodes`.

    Args:
        module: the module.
        sample_input: inputs, by which shapes are propagated.
        operator_support: what the accelerator supports.
        settings: the settings.
        non_acc_submodule_name: what names of the other parts begin with.
        return_tuple: whether parts return a tuple even of one value.
        nodes_finder: finds the nodes for the accelerator.
    """

    PCIe_BW = 100 * 2**30

    def __init__(
        self,
        module: GraphModule,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: FxNetAccNodesFinder | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module = module
        ShapeProp(module).propagate(*sample_input)
        self.settings = settings
        self.operator_support = operator_support
        self.sample_input = sample_input
        finder = nodes_finder or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes = finder()
        self.fusions = {} if settings.skip_fusion else FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name = non_acc_submodule_name
        self._node_submodule_map: dict[str, str] = {}
        self._return_tuple = return_tuple
        self.tags: list[str] = []

    def get_node_submodule_map(self) -> dict[str, str]:
        """The part of each node, after the split.

        Returns:
            From names of nodes to names of parts.
        """
        return self._node_submodule_map

    def find_deps(self) -> dict[Node, NodeSet]:
        """The computing nodes that each node uses.

        Returns:
            Sets by node.
        """
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                for user in node.users:
                    if user.op != "output":
                        deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Has nodes that stay together wait for what any of them uses."""
        for node, group in self.fusions.items():
            for member in group:
                self.deps[node].update(self.deps[member] - group)
                for user in member.users:
                    if user not in group and user.op in CALLABLE_NODE_OPS:
                        self.deps[user].add(node)

    # ---- parts
    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Groups the nodes, those for the accelerator and the others by turns.

        Returns:
            The parts in order.

        Raises:
            FxNetSplitterInternalError: there is a cycle.
        """
        pending = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        placed: NodeSet = set()
        parts: list[Subgraph] = []
        current: NodeList = []
        ready = [n for n in pending if not self.deps[n]]
        acc = bool(ready) and all(n in self.acc_nodes for n in ready)
        while pending:
            first = next(
                (n for n in pending if (n in self.acc_nodes) == acc and self.deps[n] <= placed), None
            )
            if first is None:
                if not current and not any(self.deps[n] <= placed for n in pending):
                    raise FxNetSplitterInternalError("Subgraph can't be empty")
                if current:
                    parts.append(Subgraph(acc, current))
                acc, current = not acc, []
                continue
            group = [n for n in pending if n in self.fusions.get(first, {first})]
            current += group
            placed.update(group)
            pending = [n for n in pending if n not in placed]
        if current:
            parts.append(Subgraph(acc, current))
        if not parts:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        return parts

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Gives parts that are too small for the accelerator to the ones around them.

        Args:
            subgraphs: the parts.

        Returns:
            The parts that are left.
        """
        remaining: list[Subgraph] = []
        for part in subgraphs:
            if part.is_acc and len(part.nodes) >= self.settings.min_acc_module_size:
                remaining.append(part)
            elif remaining and not remaining[-1].is_acc:
                remaining[-1].nodes.extend(part.nodes)
            else:
                remaining.append(Subgraph(False, part.nodes))
        return remaining

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Gives each node the name of its part.

        Args:
            subgraphs: the parts.
        """
        self.tags = []
        for part in subgraphs:
            name = (
                f"_run_on_acc_{len(self.tags)}"
                if part.is_acc
                else f"{self.non_acc_submodule_name}{len(self.tags)}"
            )
            self.tags.append(name)
            for node in part.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = name
                self._node_submodule_map[node.name] = name

    def split(self, remove_tag: bool = False) -> GraphModule:
        """Makes submodules of the tagged parts.

        Args:
            remove_tag: whether tags are removed afterwards.

        Returns:
            The split module.
        """
        module = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return module

    def __call__(self) -> GraphModule:
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        acc = sum(part.is_acc for part in subgraphs)
        if 0 <= self.settings.max_acc_splits < acc:
            raise ValueError(
                f"Cannot fulfill max_acc_splits limit. This may cause split fragmentation and result in performance "
                f"issues: {acc} parts, {self.settings.max_acc_splits} allowed"
            )
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """Splits, and notes the inputs of the parts.

        Returns:
            The module, the inputs, and the prefix of the parts that aren't for the accelerator.
        """
        module = self()
        names = [name for name, _ in module.named_children()]
        inputs = generate_inputs_for_submodules(module, self.sample_input, names)
        return SplitResult(module, inputs, self.non_acc_submodule_name)

    # ---- looking at it
    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors) -> tl_nn.Module:
        """The part as the accelerator runs it; here as it is."""
        return mod

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str:
        return "Unable to find a culprit because _find_culprit() function is not implemented."

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Says which operators are supported, and prints it.

        Args:
            dump_graph: whether the graph's text is added.

        Returns:
            The text.
        """
        modules: Mapping[str, Any] = dict(self.module.named_modules())
        targets: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                supported = self.operator_support.is_node_supported(modules, node)
                targets[supported].setdefault(get_node_target(modules, node))
        text = "\nSupported node types in the model:\n" + "".join(f"{t}\n" for t in targets[True])
        text += "\nUnsupported node types in the model:\n" + "".join(f"{t}\n" for t in targets[False])
        text += f"\n{self.module.graph}\n" if dump_graph else ""
        print(text)
        return text

    def split_preview(self, dump_graph: bool = False) -> str:
        """Says into which parts the module would be split, and prints it.

        Args:
            dump_graph: whether the text of the parts is added.

        Returns:
            The text.
        """
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        acc = sum(part.is_acc for part in subgraphs)
        text = f"total {len(subgraphs)} subgraphs are created: {acc} acc subgraphs "
        text += f"and {len(subgraphs) - acc} cpu subgraphs.\n"
        for i, part in enumerate(subgraphs):
            text += f"{'_run_on_acc_' if part.is_acc else self.non_acc_submodule_name}{i}: {len(part.nodes)} node(s)\n"
            if dump_graph:
                text += "".join(f"    {node.format_node()}\n" for node in part.nodes)
        print(text)
        return text

"""Finding the smallest part of a graph whose results differ between two ways of running it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..graph_module import GraphModule
from .shape_prop import ShapeProp
from .split_utils import split_by_tags
from .tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    Names,
    NodeList,
    NodeSet,
    TensorOrTensors,
    Tensors,
)

__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
]

logger = logging.getLogger(__name__)


class FxNetMinimizerBadModuleError(Exception):
    """A part can't be made into a module."""


class FxNetMinimizerRunFuncError(Exception):
    """Running a part failed in one of the two ways."""


class FxNetMinimizerResultMismatchError(Exception):
    """The results of a part differ."""


@dataclass
class _MinimizerSettingBase:
    """Settings of a minimizer: see `_MinimizerBase`."""

    accumulate_error: bool = False
    traverse_method: str = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False

    def __str__(self) -> str:
        lines = ["FX Minimizer Settings:", *(f"\t{name}: {value}" for name, value in vars(self).items())]
        return "\n".join(lines) + "\n"


class _MinimizerBase:
    """Runs parts of a graph in two ways and compares.

    Subclasses write `run_a` and `run_b`. `settings.traverse_method` is sequential, binary, accumulate or skip;
    `accumulate_error` passes the second way's results on to the next part, `find_all` goes on after the first find.

    Args:
        module: the module.
        sample_input: its inputs.
        compare_fn: takes the results of both ways and the names of the nodes; gives a number and whether they agree.
        settings: the settings.
        module_exporter: called with the inputs, the module of a find and a name.
        exclusion_function: takes a list of nodes and where it begins and ends, and removes some.
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Tensors,
        compare_fn: Callable[[TensorOrTensors, TensorOrTensors, Names], tuple[float, bool]],
        settings: _MinimizerSettingBase,
        module_exporter: Callable[[Tensors, GraphModule, str], None] | None = None,
        exclusion_function: Callable[[NodeList, int, int], None] | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module = module
        self.sample_input = sample_input
        self.compare_fn = compare_fn
        self.module_exporter = module_exporter
        self.settings = settings
        self.exclusion_function = exclusion_function
        self.a_outputs: dict[str, Any] = {}
        self.b_outputs: dict[str, Any] = {}
        self.results: dict[Any, Any] = {}
        self.reports: list[list[str]] = []
        self.iteration = 0
        computing = {node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS}
        ShapeProp(module).propagate(*sample_input)
        self.fusions = FxNetAccFusionsFinder(module, computing)()
        for node, value in zip(module.graph.find_nodes(op="placeholder"), sample_input, strict=False):
            self.a_outputs[node.name] = self.b_outputs[node.name] = value

    def run_a(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """Runs a part the first way.

        Args:
            mod: the part.
            inputs: its inputs.
            report_idx: the number of the report.

        Returns:
            The results.
        """
        raise RuntimeError("run_a() is not implemented.")

    def run_b(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """Runs a part the second way.

        Args:
            mod: the part.
            inputs: its inputs.
            report_idx: the number of the report.

        Returns:
            The results.
        """
        raise RuntimeError("run_b() is not implemented.")

    # ---- one part
    def _part(self, nodes: NodeList) -> tuple[GraphModule, str]:
        inside = set(nodes)
        started = False
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                started = started or node in inside
                node.tag = "minimize" if node in inside else "main_1" if started else "main_0"
        # What is behind the part, but not of its results, stays before it where the order asks for it.
        for node in self.module.graph.nodes:
            if getattr(node, "tag", "") == "main_0" and any(
                getattr(n, "tag", "") != "main_0" for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS
            ):
                node.tag = "main_1"
        for node in reversed(self.module.graph.nodes):
            if getattr(node, "tag", "") == "main_1" and any(
                getattr(u, "tag", "") == "minimize" for u in node.users
            ):
                node.tag = "main_0"
        try:
            split = split_by_tags(self.module, ["main_0", "minimize", "main_1"])
        except (AssertionError, KeyError) as error:
            raise FxNetMinimizerBadModuleError(f"Submodules {nodes}: the nodes can't be one part") from error
        finally:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return split, "minimize"

    def _get_submod_inputs(self, split: GraphModule, name: str) -> tuple[Tensors, Tensors]:
        from .splitter_base import generate_inputs_for_submodules

        inputs = generate_inputs_for_submodules(split, self.sample_input, [name])[name]
        calls = [n for n in split.graph.nodes if n.op == "call_module" and n.target == name]
        placeholders = getattr(split, name).graph.find_nodes(op="placeholder")
        if not self.settings.accumulate_error or not calls:
            return inputs, inputs
        names = [node.name for node in placeholders]
        b_given = tuple(self.b_outputs.get(n, value) for n, value in zip(names, inputs, strict=True))
        return inputs, b_given

    def _run_and_compare(
        self, split: GraphModule, name: str, output_names: Names, report_idx: int = -1
    ) -> None:
        part = getattr(split, name)
        a_input, b_input = self._get_submod_inputs(split, name)
        if self.module_exporter:
            self.module_exporter(a_input, part, f"{name}_{self.iteration}")
        try:
            a_result = self.run_a(part, a_input, report_idx)
            b_result = self.run_b(part, b_input, report_idx)
        except Exception as error:
            raise FxNetMinimizerRunFuncError(f"Failed to run a part: {error}") from error
        for i, output in enumerate(output_names):
            self.a_outputs[output] = a_result[i] if isinstance(a_result, (list, tuple)) else a_result
            self.b_outputs[output] = b_result[i] if isinstance(b_result, (list, tuple)) else b_result
        number, agrees = self.compare_fn(a_result, b_result, output_names)
        self.results[tuple(output_names)] = number
        if not agrees:
            raise FxNetMinimizerResultMismatchError(f"Result mismatch for {output_names}: {number}")

    def _check(self, nodes: NodeList, report_idx: int) -> NodeSet:
        """The nodes themselves if their results differ, else none."""
        self.iteration += 1
        inside = set(nodes)
        split, name = self._part(nodes)
        outputs = [n.name for n in nodes if any(u not in inside for u in n.users)]
        try:
            self._run_and_compare(split, name, outputs, report_idx)
        except (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError) as error:
            self._note(report_idx, f"{outputs}: {error}")
            return inside
        self._note(report_idx, f"{outputs}: no difference")
        return set()

    def _note(self, report_idx: int, text: str) -> None:
        if 0 <= report_idx < len(self.reports):
            self.reports[report_idx].append(text)

    # ---- ways through the graph
    def _binary_traverse(self, nodes: NodeList) -> NodeSet:
        self.reports.append([])
        culprits: NodeSet = set()
        pending = [nodes]
        while pending:
            part = pending.pop()
            if self.exclusion_function is not None:
                self.exclusion_function(part, 0, len(part))
            if not part or not self._check(part, len(self.reports) - 1):
                continue
            if len(part) == 1:
                culprits.add(part[0])
                if not self.settings.find_all:
                    return culprits
                continue
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
        return culprits

    def _sequential_traverse(self, nodes: NodeList) -> NodeSet:
        culprits: NodeSet = set()
        for node in nodes:
            if self.exclusion_function is not None:
                alone = [node]
                self.exclusion_function(alone, 0, 1)
                if not alone:
                    continue
            self.reports.append([f"node {node.name}"])
            group = [n for n in nodes if n in self.fusions.get(node, {node})]
            culprits |= self._check(group, len(self.reports) - 1)
            if culprits and not self.settings.find_all:
                return culprits
        return culprits

    def _accumulate_traverse(self, nodes: NodeList) -> NodeSet:
        culprits: NodeSet = set()
        for i, node in enumerate(nodes):
            self.reports.append([f"nodes up to {node.name}"])
            if self._check(nodes[: i + 1], len(self.reports) - 1):
                culprits.add(node)
                return culprits
        return culprits

    def _skip_traverse(self, nodes: NodeList, skip: list[str]) -> NodeSet:
        culprits: NodeSet = set()
        part: NodeList = []
        for node in [*nodes, None]:
            if node is not None and node.name not in skip:
                part.append(node)
                continue
            if part:
                self.reports.append([f"nodes {part[0].name} to {part[-1].name}"])
                culprits |= self._check(part, len(self.reports) - 1)
            part = []
        return culprits

    def _collect_nodes(self, start: str | None, end: str | None) -> NodeList:
        nodes = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        names = [n.name for n in nodes]
        first = names.index(start) if start else 0
        last = names.index(end) + 1 if end else len(nodes)
        return nodes[first:last]

    def run_nodes(self, start: str | None = None, end: str | None = None) -> None:
        """Runs the nodes of a range as one part and compares.

        Args:
            start, end: the names of the first and the last node.

        Raises:
            FxNetMinimizerResultMismatchError: the results differ.
            FxNetMinimizerRunFuncError: it could not be run.
        """
        nodes = self._collect_nodes(start, end)
        inside = set(nodes)
        split, name = self._part(nodes)
        self._run_and_compare(split, name, [n.name for n in nodes if any(u not in inside for u in n.users)])

    def minimize(
        self,
        start: str | None = None,
        end: str | None = None,
        skip_nodes: list[str] | None = None,
        find_last_node: bool | None = None,
    ) -> NodeSet:
        """Looks for nodes whose results differ.

        Args:
            start, end: the names of the first and the last node that are looked at.
            skip_nodes: names of nodes that are left out, for the method skip.
            find_last_node: accepted; parts are always narrowed down from their beginning.

        Returns:
            The nodes.

        Raises:
            RuntimeError: the method isn't known.
        """
        nodes = self._collect_nodes(start, end)
        method = self.settings.traverse_method
        if method == "skip":
            if skip_nodes is None:
                raise RuntimeError("'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
            return self._skip_traverse(nodes, skip_nodes)
        ways = {
            "sequential": self._sequential_traverse,
            "binary": self._binary_traverse,
            "accumulate": self._accumulate_traverse,
        }
        if method not in ways:
            raise RuntimeError(f"Unknown traverse method {method}!")
        return ways[method](nodes)

    def print_reports(self) -> None:
        """Prints what was found, a block for each part."""
        for report in self.reports:
            print("\n".join(report) + "\n")

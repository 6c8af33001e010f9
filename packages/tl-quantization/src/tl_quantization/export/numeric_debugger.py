"""Numbers of a float model and a quantized model side by side: handles, loggers, comparisons."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_nn import Module
from tl_nn import functional as F

from ..numeric_suite.measures import compute_sqnr
from .graph_utils import get_control_flow_submodules

__all__ = [
    "CUSTOM_KEY",
    "NUMERIC_DEBUG_HANDLE_KEY",
    "NodeAccuracySummary",
    "OutputLogger",
    "QuantizationComparisonResult",
    "compare_results",
    "extract_results_from_loggers",
    "generate_numeric_debug_handle",
    "prepare_for_propagation_comparison",
]

NUMERIC_DEBUG_HANDLE_KEY = "numeric_debug_handle"
CUSTOM_KEY = "custom"
_ENDS = ("placeholder", "output")


def _graphs(model: GraphModule) -> Iterator[GraphModule]:
    """A model and the branches in it, such as those of `cond`."""
    yield model
    for _, branch, _ in get_control_flow_submodules(model):
        yield from _graphs(branch)


def _handle(node: Node) -> int | None:
    return node.meta.get(CUSTOM_KEY, {}).get(NUMERIC_DEBUG_HANDLE_KEY)


def generate_numeric_debug_handle(ep: Any) -> None:
    """Gives each node of a program a number from 1 on, in `meta["custom"]`. Passes keep the numbers.

    Inputs have none. A node that has a number keeps it.

    Args:
        ep: an `ExportedProgram`.

    Raises:
        ValueError: it is a graph module: `ep.module()` copies the numbers.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> program = export_for_training(nn.ReLU(), (tl_core.ones(2),))
        >>> generate_numeric_debug_handle(program)
        >>> [node.meta["custom"] for node in program.graph.nodes if node.op == "call_function"]
        [{'numeric_debug_handle': 1}]
    """
    if not hasattr(ep, "graph_module"):
        raise ValueError(
            f"Expected ep to be ExportedProgram, got {type(ep)}: number the program, then call ep.module()"
        )
    calls = [node for model in _graphs(ep.graph_module) for node in model.graph.nodes if node.op not in _ENDS]
    number = max((_handle(node) or 0 for node in calls), default=0)
    for node in calls:
        if _handle(node) is None:
            number += 1
            set_handle(node, number)


def set_handle(node: Node, number: int) -> None:
    """Gives a node a number.

    Args:
        node: the node.
        number: the number.
    """
    node.meta[CUSTOM_KEY] = {**node.meta.get(CUSTOM_KEY, {}), NUMERIC_DEBUG_HANDLE_KEY: number}


def copy_handle(source: Node, target: Node) -> None:
    """Gives a node the number of another one, if that has a number.

    Args:
        source: the node with the number.
        target: the node that gets it.
    """
    number = _handle(source)
    if number is not None:
        set_handle(target, number)


def _detach(x: object) -> object:
    if isinstance(x, tl_core.Tensor):
        return x.detach()
    if isinstance(x, (list, tuple)):
        return type(x)(map(_detach, x))
    if isinstance(x, dict):
        return {key: _detach(value) for key, value in x.items()}
    return x


class OutputLogger(Module):
    """Stores the values of a node, and passes them on.

    Args:
        debug_handle: the number of the node.
        node_name: its name.
        nn_module_stack: the modules that it belongs to.

    Example:
        >>> import tl_core
        >>> logger = OutputLogger(7, "relu")
        >>> _ = logger(tl_core.ones(2))
        >>> logger.stats
        [tensor([1., 1.])]
    """

    _is_impure = True

    def __init__(
        self, debug_handle: int, node_name: str | None = None, nn_module_stack: object | None = None
    ) -> None:
        super().__init__()
        self.node_name, self.nn_module_stack = node_name, nn_module_stack
        self.debug_handle = debug_handle
        self.stats: list[Any] = []

    def forward(self, x: object) -> object:
        """Stores a copy of the value without its graph."""
        self.stats.append(copy.deepcopy(_detach(x)))
        return x

    def extra_repr(self) -> str:
        """The number and the name of the node, and the count of recorded values."""
        return f"debug_handle={self.debug_handle}, node_name={self.node_name}, num_stats={len(self.stats)}"

    __extra_repr__ = extra_repr


def prepare_for_propagation_comparison(model: GraphModule) -> GraphModule:
    """A copy of a model with a logger behind each numbered node.

    Args:
        model: a model of a program with numbers, float or quantized.
    """
    model = copy.deepcopy(model)
    for node in list(model.graph.nodes):
        number = _handle(node)
        if node.op in ("get_attr", "output") or number is None:
            continue
        name = f"logger_{node.name}"
        setattr(model, name, OutputLogger(number, node.name, node.meta.get("nn_module_stack")))
        users = list(node.users)
        with model.graph.inserting_after(node):
            call = model.graph.call_module(name, (node,))
        for user in users:
            user.replace_input_with(node, call)
    model.recompile()
    return model


@dataclass(frozen=True)
class QuantizationComparisonResult:
    """A value of two models.

    Args:
        actual: the value of the quantized model.
        ref: the value of the float model.
    """

    actual: Any
    ref: Any

    def __post_init__(self) -> None:
        if type(self.actual) is not type(self.ref):
            raise ValueError(f"Cannot compare {type(self.actual)} with {type(self.ref)}")
        if isinstance(self.actual, tl_core.Tensor) and self.actual.shape != self.ref.shape:
            raise ValueError(
                f"Cannot compare tensors of shapes {tuple(self.actual.shape)} and {tuple(self.ref.shape)}"
            )

    def loss(self, loss_function: Callable[[Any, Any], Any]) -> Any:
        """The difference by a function of two floating tensors, of each tensor of a list, tuple or dictionary."""
        return _loss(self.actual, self.ref, loss_function)

    @property
    def mse_loss(self) -> Any:
        """The mean of squared differences."""
        return self.loss(F.mse_loss)

    @property
    def sqnr(self) -> Any:
        """The ratio of signal to noise in decibels."""
        return self.loss(compute_sqnr)


def _loss(actual: Any, ref: Any, function: Callable[[Any, Any], Any]) -> Any:
    if isinstance(actual, tl_core.Tensor):
        return function(actual.to(tl_core.float32), ref.to(tl_core.float32))
    if isinstance(actual, (list, tuple)):
        return type(actual)(_loss(a, b, function) for a, b in zip(actual, ref, strict=True))
    if isinstance(actual, dict):
        return {key: _loss(value, ref[key], function) for key, value in actual.items()}
    return None


@dataclass(frozen=True)
class NodeAccuracySummary:
    """The values of a node in two models.

    Args:
        handle: the number of the node.
        actual_node_name: its name in the quantized model.
        actual_module_stack: its module there.
        ref_node_name: its name in the float model.
        ref_module_stack: its module there.
        results: the values of each call.
    """

    handle: int
    actual_node_name: str
    actual_module_stack: str
    ref_node_name: str
    ref_module_stack: str
    results: Sequence[QuantizationComparisonResult]


def _module_name(stack: Any) -> str:
    """The innermost module of a stack: its class, and the dotted name."""
    if not stack:
        return ""
    name, kind = list(stack.values())[-1]
    return f"{kind if isinstance(kind, str) else kind.__name__}({name})"


def extract_results_from_loggers(
    model: GraphModule,
) -> dict[int, tuple[str | None, object, list[object]]]:
    """The values that loggers have stored: name, modules and values by the number of the node.

    Args:
        model: a model of `prepare_for_propagation_comparison` that has run.
    """
    return {
        module.debug_handle: (module.node_name, module.nn_module_stack, module.stats)
        for module in model.modules()
        if isinstance(module, OutputLogger) and module.stats
    }


def compare_results(
    ref_results: dict[int, tuple[str | None, object, list[Any]]],
    actual_results: dict[int, tuple[str | None, object, list[Any]]],
) -> dict[int, NodeAccuracySummary]:
    """The values of both models, by the number of the node. A node of one model alone is left out.

    Args:
        ref_results: the values of the float model.
        actual_results: the values of the quantized model.

    Raises:
        ValueError: If both models have a node, but with values that can't be compared.
    """
    comparisons = {}
    for number, (ref_name, ref_stack, ref_stats) in ref_results.items():
        if number not in actual_results:
            continue
        name, stack, stats = actual_results[number]
        try:
            pairs = [QuantizationComparisonResult(a, b) for a, b in zip(stats, ref_stats, strict=False)]
        except ValueError as error:
            raise ValueError(f"Failed to compare the values of {name} and {ref_name}: {error}") from error
        comparisons[number] = NodeAccuracySummary(
            number, name or "", _module_name(stack), ref_name or "", _module_name(ref_stack), pairs
        )
    return comparisons

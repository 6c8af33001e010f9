"""`torch._dynamo.explain`: which graph a call becomes, and why it becomes none."""

from __future__ import annotations

import dataclasses
import time
import traceback
from typing import Any

from .breaks import Break
from .capture import capture
from .compiled_function import CompiledFunction, Settings
from .counters import counters
from .reachable import state_of
from .state import Unprovable

__all__ = ["ExplainOutput", "GraphCompileReason", "explain_call", "operators_of"]


@dataclasses.dataclass
class GraphCompileReason:
    """Why a call runs eagerly.

    Args:
        reason: why.
        user_stack: the line of the program, as a FrameSummary, in a list; empty where no line says it.
        graph_break: True.
    """

    reason: str
    user_stack: list[Any]
    graph_break: bool = True


@dataclasses.dataclass
class ExplainOutput:
    """What becomes of a call.

    Args:
        graphs: its graph, as a GraphModule, in a list; those of the modules that it calls if it runs eagerly.
        graph_count: how many graphs there are.
        graph_break_count: how many calls, it and those of modules, run eagerly.
        break_reasons: why.
        op_count: how many operators the graphs have.
        ops_per_graph: the operators of each.
        out_guards: what the graph holds for, as text.
        compile_times: how long it took to make it, as text.
    """

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]] | None = None
    out_guards: list[str] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {reason.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in reason.user_stack]
        for number, ops in enumerate(self.ops_per_graph or (), 1):
            lines += [f"Ops of Graph {number}:", *(f"  {op}" for op in ops)]
        if self.compile_times is not None:
            lines.append(f"Compile Times: {self.compile_times}")
        return "\n".join(lines) + "\n"


def explain_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExplainOutput:
    """What becomes of a call.

    Args:
        function: what is called.
        args, kwargs: its arguments.
    """
    began = time.perf_counter()
    try:
        state = state_of(function, args, kwargs)
        graph = capture(function, args, kwargs, state)
    except (Unprovable, Break):
        graphs, reasons = _parts(function, args, kwargs)
        guards = []
    else:
        graphs, reasons = [graph.graph_module] if operators_of(graph.graph_module) else [], []
        guards = [f"{len(state.key)} values of arguments, attributes and variables", "the thread's settings"]
    took = time.perf_counter() - began
    ops = list(map(operators_of, graphs))
    counters["stats"]["unique_graphs"] += len(graphs)
    return ExplainOutput(
        graphs, len(graphs), len(reasons), reasons, sum(map(len, ops)), ops, guards, f"capture: {took:.4f} s"
    )


def operators_of(module: Any) -> list[Any]:
    """The operators and functions that a graph calls.

    Args:
        module: the graph module.
    """
    return [node.target for node in module.graph.nodes if node.op.startswith("call_")]


def _parts(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], list[GraphCompileReason]]:
    """The graphs of a call that isn't one, which runs, and why it is not."""
    graphs = []

    def collect(module: Any, examples: list[Any]) -> Any:
        graphs.append(module)
        return module.forward

    compiled = CompiledFunction(function, Settings(collect))
    compiled(args, kwargs)
    return graphs, [_reason(failure) for failure in compiled.breaks()]


def _reason(failure: Break) -> GraphCompileReason:
    stack = [] if failure.location is None else [traceback.FrameSummary(*failure.location, "")]
    return GraphCompileReason(failure.reason, stack)

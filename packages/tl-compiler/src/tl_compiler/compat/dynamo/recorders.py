"""Backends of `compile` that count and store graphs."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["AotEagerAndRecordGraphs", "CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]


class CompileCounterWithBackend:
    """A backend of `compile` that counts graphs and their operators, and hands them to another.

    Args:
        backend: the other's name, or a function.

    Example:
        >>> from tl_compiler.compiler import compile
        >>> counter = CompileCounterWithBackend("eager")
        >>> _ = compile(lambda x: x.sin() + 1, backend=counter)(tl_core.ones(2))
        >>> counter.frame_count, counter.op_count
        (1, 2)
    """

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.clear()

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        from tl_compiler.compiler.backends import lookup_backend

        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Begins to count anew."""
        self.frame_count = self.op_count = 0
        self.graphs: list[Any] = []


class CompileCounter(CompileCounterWithBackend):
    """A backend of `compile` that counts graphs and their operators, and runs them as they are."""

    def __init__(self) -> None:
        super().__init__("eager")


class EagerAndRecordGraphs:
    """A backend of `compile` that keeps the graphs, as `graphs`, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


class AotEagerAndRecordGraphs:
    """A backend of `compile` that stores graphs and runs them as they are.

    `graphs` has the graphs that `compile` passes, `fw_graphs` and `bw_graphs` those of forward and backward passes.
    """

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        from tl_compiler.aot.aot_autograd import aot_module_simplified

        self.graphs.append(gm)
        return aot_module_simplified(
            gm,
            example_inputs,
            fw_compiler=functools.partial(_append, self.fw_graphs),
            bw_compiler=functools.partial(_append, self.bw_graphs),
        )


def _append(graphs: list[Any], gm: Any, example_inputs: Any) -> Any:
    graphs.append(gm)
    return gm.forward

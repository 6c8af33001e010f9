"""`torch._dynamo.backends.debugging`: backends of `compile` that run graphs as they are, or fail on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_compiler.compiler.backends import lookup_backend
from tl_compiler.compiler.explanation import ExplainOutput, operators_of
from tl_compiler.compiler.graph_backends import (
    aot_eager,
    aot_eager_decomp_partition,
    aot_eager_default_partitioner,
    boxed_nop,
    eager,
    eager_debug,
    eager_noexcept,
    pre_dispatch_eager,
)

__all__ = [
    "ExplainOutput",
    "ExplainWithBackend",
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_default_partitioner",
    "boxed_nop",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "pre_dispatch_eager",
]


class ExplainWithBackend:
    """A backend of `compile` that stores graphs for a report, and hands them to another backend.

    Args:
        backend: the name of the other backend, or a function.

    Example:
        >>> import tl_core
        >>> from tl_compiler.compiler import compile
        >>> backend = ExplainWithBackend("eager")
        >>> _ = compile(lambda x: x.sin() + 1, backend=backend)(tl_core.ones(2))
        >>> report = backend.output()
        >>> report.graph_count, report.op_count
        (1, 2)
    """

    def __init__(self, backend: Any) -> None:
        self.backend = lookup_backend(backend)
        self.graphs: list[Any] = []
        self.op_count = 0

    def __call__(self, gm: Any, example_inputs: Sequence[Any]) -> Any:
        self.graphs.append(gm)
        self.op_count += len(operators_of(gm))
        return self.backend(gm, example_inputs)

    def output(self) -> ExplainOutput:
        """The report on the graphs so far."""
        count = len(self.graphs)
        operators = [operators_of(graph) for graph in self.graphs]
        return ExplainOutput(list(self.graphs), count, max(count - 1, 0), [], self.op_count, operators, [])

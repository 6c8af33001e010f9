"""`strict_mode`: a function that a trace keeps as one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracer.proxy_mode import current_mode
from .base import HigherOrderOperator
from .subgraphs import record_subgraph_call
from .transformed import call_in_trace

__all__ = ["StrictMode", "strict_mode", "strict_mode_op"]


class StrictMode(HigherOrderOperator):
    """The operator of graphs: takes a graph and its operands in order.

    Args:
        callable: the graph.
        operands: what it takes.
    """

    def __init__(self) -> None:
        super().__init__("strict_mode")

    def __call__(self, callable: Callable[..., Any], operands: Any) -> Any:
        mode, operands = current_mode(), tuple(operands)
        if mode is None:
            return callable(*operands)

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            return record_subgraph_call(
                mode,
                self,
                functions[0],
                (*operands, *captured),
                "strict_graph",
                lambda graph, flat: (graph, flat),
            )

        return call_in_trace(mode, (callable,), operands, operands, record, lambda _: callable(*operands))


strict_mode_op = StrictMode()


def strict_mode(callable: Callable[..., Any], operands: Any) -> Any:
    """Calls a function. In a trace it becomes a graph of its own, and its call one node.

    Args:
        callable: the function.
        operands: what it is called with: containers of tensors and numbers.

    Returns:
        What the function returns.

    Example:
        >>> import tl_core
        >>> strict_mode(lambda x: (x + 1,), (tl_core.ones(2),))
        (tensor([2., 2.]),)
    """
    return strict_mode_op(callable, operands)

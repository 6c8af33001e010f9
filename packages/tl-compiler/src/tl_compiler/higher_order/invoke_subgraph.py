"""`invoke_subgraph`: calls of one function, by its identifier, which a graph holds once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracer.proxy_mode import current_mode
from .base import HigherOrderOperator
from .subgraphs import Ready, attach_subgraph, fresh, trace_subgraph, with_inputs
from .transformed import call_in_trace

__all__ = ["InvokeSubgraph", "invoke_subgraph"]


class InvokeSubgraph(HigherOrderOperator):
    """Calls a function. In a trace it becomes a graph of its own; calls with one identifier share it.

    Args:
        subgraph: the function.
        identifier: what tells functions apart; None: the call shares its graph with no other.
        operands: what it is called with, each by itself or all in one tuple or list.

    Returns:
        What the function returns.
    """

    def __init__(self) -> None:
        super().__init__("invoke_subgraph")

    def __call__(self, subgraph: Callable[..., Any], identifier: str | None, *operands: Any) -> Any:
        """Calls the function.

        Args:
            subgraph: the function.
            identifier: what tells functions apart.
            operands: what it is called with.

        Raises:
            TypeError: the identifier is neither text nor None.
        """
        if identifier is not None and not isinstance(identifier, str):
            raise TypeError(
                f"invoke_subgraph(): argument 'identifier' must be a str or None, got {type(identifier).__name__}"
            )
        if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
            operands = tuple(operands[0])
        mode = current_mode()
        if mode is None:
            return subgraph(*operands)

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            return self._record(mode, functions[0], identifier, (*operands, *captured))

        return call_in_trace(mode, (subgraph,), operands, operands, record, lambda _: subgraph(*operands))

    def _record(self, mode: Any, function: Any, identifier: str | None, operands: tuple[Any, ...]) -> Any:
        body = trace_subgraph(mode, function, operands)
        shared = mode.tracer.__dict__.setdefault("invoked_subgraphs", {})
        # What is read from around the function may be other values at the next call.
        name = None if body.lifted else shared.get(identifier)
        if name is None:
            node = attach_subgraph(mode, with_inputs(body, body.lifted), "repeated_subgraph")
            if identifier is not None and not body.lifted:
                shared[identifier] = node.target
        else:
            node = mode.tracer.create_node("get_attr", name, (), {}, name)
        flat = [mode.node_of(v) for v in (*operands, *body.lifted)]
        results = [fresh(mode, r) for r in body.results]
        mode.record_call(self, (*map(Ready, (node, identifier, *flat)),), {}, tuple(results), self.name())
        return body.out_spec.unflatten(results)


invoke_subgraph = InvokeSubgraph()

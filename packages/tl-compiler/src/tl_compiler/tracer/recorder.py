"""The nodes of a traced graph, each with the place in the program that it comes from."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.dispatch import grad_mode

from ..fx.node import Node
from ..fx.proxy import TracerBase
from ..symbolic.user_lines import user_stack

__all__ = ["Recorder"]


class Recorder:
    """Creates the nodes of a graph and describes their origin.

    Args:
        tracer: the tracer of the graph.
        module_stack: returns the modules that run; None: nodes have no modules.
        stack_traces: whether nodes have the lines of the program.
        grad_mode: whether the graph switches the recording of derivatives where the program does.
        call_numbers: whether a node has the number of its operator's call, as `torch_fn`.
    """

    def __init__(
        self,
        tracer: TracerBase,
        module_stack: Callable[[], dict[str, Any]] | None,
        *,
        stack_traces: bool,
        grad_mode: bool,
        call_numbers: bool,
    ) -> None:
        self.tracer, self.module_stack = tracer, module_stack
        self.stack_traces, self.grad_mode, self.call_numbers = stack_traces, grad_mode, call_numbers
        self.inherited: dict[str, Any] = {}  # the description of nodes that come from a node of another graph
        self._grad_before = self._grad_now = tl_core.is_grad_enabled()  # of the graph
        self._calls: dict[str, int] = {}

    def create(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Node:
        """Creates the node of a call, with the modules that run and the lines of the program.

        Args:
            target: the function of the call.
            args, kwargs: the arguments: nodes, constants and containers of them.
            name: the name of the result.

        Returns:
            The node.
        """
        node = self.tracer.create_node("call_function", target, args, kwargs, name)
        if self.module_stack is not None:
            node.meta["nn_module_stack"] = self.module_stack()
        if self.stack_traces and "stack_trace" not in self.inherited:
            node.meta["stack_trace"] = _stack_text()
        node.meta.update(self.inherited)
        return node

    def create_operator(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        """Creates the node of an operator.

        Args:
            target: the operator.
            args, kwargs: the arguments: nodes, constants and containers of them.

        Returns:
            The node.
        """
        name = getattr(target, "overloadpacket", target).__name__
        node = self.create(target, args, kwargs, name)
        if self.call_numbers and "torch_fn" not in self.inherited:
            number = self._calls[name] = self._calls.get(name, 0) + 1
            node.meta["torch_fn"] = f"{name}_{number}", f"builtin_function_or_method.{name}"
        return node

    def switch_grad(self) -> None:
        """Records a switch of the recording of derivatives if the program has switched it since the last node."""
        if self.grad_mode:
            self._switch_grad(tl_core.is_grad_enabled())

    def restore_grad(self) -> None:
        """Records a switch back to the state of the beginning, so that a run of the graph leaves no change."""
        if self.grad_mode:
            self._switch_grad(self._grad_before)

    def _switch_grad(self, on: bool) -> None:
        if on != self._grad_now:
            self._grad_now = on
            self.create(grad_mode.switch, (on,), {}, "_set_grad_enabled")


def _stack_text() -> str:
    lines = []
    for file, line, function in user_stack("_trace_boundary")[-8:]:
        lines.append(
            f'  File "{file}", line {line}, in {function}\n    {linecache.getline(file, line).strip()}'
        )
    return "\n".join(lines) + "\n" if lines else ""

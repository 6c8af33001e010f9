"""What nodes say of where they come from, and nodes that are made from them say, too."""

from __future__ import annotations

from typing import Any

import tl_core

from ..fx.interpreter import Interpreter
from ..fx.node import Node
from ..higher_order.wrap import wrap_with_set_grad_enabled
from ..tracer.recorder import Recorder

__all__ = ["FollowedRun", "inherited_meta"]

_KEPT = ("custom", "nn_module_stack", "quantization_tag", "source_fn_stack", "stack_trace", "torch_fn")


def inherited_meta(node: Node) -> dict[str, Any]:
    """What a node says of where it comes from.

    Args:
        node: the node.
    """
    meta = {name: node.meta[name] for name in _KEPT if name in node.meta}
    stack = meta.setdefault("nn_module_stack", {})
    meta["nn_module_stack"] = dict(stack)
    return meta


class FollowedRun(Interpreter):
    """Runs a graph while a mode records; what it records says what the graph's nodes say.

    Args:
        module: the module of the graph.
        recorder: the recorder of the trace.
    """

    def __init__(self, module: Any, recorder: Recorder) -> None:
        super().__init__(module)
        self.recorder = recorder

    def run_node(self, n: Node) -> Any:
        """Runs a node.

        Args:
            n: the node.
        """
        before = self.recorder.inherited
        self.recorder.inherited = inherited_meta(n) if n.op.startswith("call") else before
        try:
            return super().run_node(n)
        finally:
            self.recorder.inherited = before

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Calls a function; a region without derivatives is followed, too.

        Args:
            target: the function.
            args, kwargs: its arguments.
        """
        if target is not wrap_with_set_grad_enabled:
            return super().call_function(target, args, kwargs)
        enable_grad, part, *inputs = args
        with tl_core.set_grad_enabled(enable_grad):
            return FollowedRun(part, self.recorder).run(*inputs)

"""Propagation of tensors without memory through a graph."""

from __future__ import annotations

from typing import Any

import tl_core

from ..interpreter import Interpreter
from ..node import Node

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph with fakes and notes each value in its node's `meta` as `val`.

    Args:
        module: the module whose graph is run.
        mode: the `FakeTensorMode` that makes the fakes; None: tensors on the meta device stand for them.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.sum(0))
        >>> _ = FakeTensorProp(made).propagate(tl_core.ones(2, 3))
        >>> [tuple(node.meta["val"].shape) for node in made.graph.nodes][:2]
        [(2, 3), (3,)]
    """

    def __init__(self, module: Any, mode: Any | None = None) -> None:
        super().__init__(module)
        self._mode = mode

    def run_node(self, n: Node) -> Any:
        """Runs a node and notes its value.

        Args:
            n: the node.

        Returns:
            The value.
        """
        result = super().run_node(n)
        if n.op != "output" or isinstance(result, tl_core.Tensor):
            n.meta["val"] = result
        return result

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module; tensors as fakes.

        Args:
            target: its dotted path.

        Returns:
            The value.
        """
        return self._fake(super().fetch_attr(target))

    def _fake(self, value: Any) -> Any:
        if not isinstance(value, tl_core.Tensor):
            return value
        if self._mode is not None:
            return self._mode.from_tensor(value)
        return value.detach().to("meta") if value.device.type != "meta" else value

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule with fakes for its parameters and buffers.

        Args:
            target: its dotted path.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        from tl_nn.func import functional_call

        module = super().fetch_attr(str(target))
        state = {name: self._fake(value) for name, value in module.state_dict(keep_vars=True).items()}
        return functional_call(module, state, args, kwargs)

    def propagate(self, *args: Any) -> Any:
        """Runs the graph with fakes of its inputs.

        Args:
            args: the inputs.

        Returns:
            Its result.
        """
        return self.propagate_dont_convert_inputs(*(self._fake(a) for a in args))

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Runs the graph with inputs that are fakes already.

        Args:
            args: the inputs.

        Returns:
            Its result.
        """
        if self._mode is None:
            return super().run(*args)
        with self._mode:
            return super().run(*args)

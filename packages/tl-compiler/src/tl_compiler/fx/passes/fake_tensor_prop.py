"""Propagation of tensors without memory through a graph."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.subclasses.fake_mode import FakeTensorMode

from ..experimental.unbacked import note_unbacked_bindings, rebind_unbacked
from ..node import Node
from .fake_run import FakeRun

__all__ = ["FakeTensorProp"]


class FakeTensorProp(FakeRun):
    """Runs a graph with fakes and notes each value in its node's `meta` as `val`.

    Args:
        module: the module whose graph is run.
        mode: the `FakeTensorMode` that makes the fakes; None: a new one.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.sum(0))
        >>> _ = FakeTensorProp(made).propagate(tl_core.ones(2, 3))
        >>> [tuple(node.meta["val"].shape) for node in made.graph.nodes][:2]
        [(2, 3), (3,)]
    """

    def __init__(self, module: Any, mode: Any | None = None) -> None:
        super().__init__(module, FakeTensorMode() if mode is None else mode)

    def run_node(self, n: Node) -> Any:
        """Runs a node and notes its value.

        Args:
            n: the node.

        Returns:
            The value.
        """
        result = super().run_node(n)
        env = getattr(self.fake_mode, "shape_env", None)
        if env is not None:
            rebind_unbacked(env, n, result)
            note_unbacked_bindings(env, n, result)
        if n.op != "output" or isinstance(result, tl_core.Tensor):
            n.meta["val"] = result
        return result

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
        return self._run_faked(args)

"""Shape propagation: a graph is run, and what each value looks like is noted at its node."""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    """What is known of a tensor.

    Args:
        result: the tensor.
        include_contiguity: whether its memory format is looked for.
    """
    if not include_contiguity:
        return TensorMetadata(
            result.shape, result.dtype, result.requires_grad, result.stride(), None, result.is_quantized, {}
        )
    return _metadata(result)


def _metadata(value: Any) -> TensorMetadata:
    formats = [tl_core.contiguous_format]
    formats += (
        [tl_core.channels_last]
        if value.dim() == 4
        else [tl_core.channels_last_3d]
        if value.dim() == 5
        else []
    )
    found = next((f for f in formats if value.is_contiguous(memory_format=f)), None)
    return TensorMetadata(
        value.shape, value.dtype, value.requires_grad, value.stride(), found, value.is_quantized, {}
    )


class ShapeProp(Interpreter):
    """Notes shape, dtype, strides and type of each value in its node's `meta`, as `tensor_meta` and `type`.

    Args:
        gm: the module whose graph is run.
        fake_mode: a `FakeTensorMode` in which the graph is run, so that nothing is computed.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.sum(0))
        >>> _ = ShapeProp(made).propagate(tl_core.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in made.graph.nodes]
        [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: Any, fake_mode: Any | None = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """Runs a node and notes what its value looks like.

        Args:
            n: the node.

        Returns:
            Its value.
        """
        result = super().run_node(n)
        found = False

        def look(value: Any) -> Any:
            nonlocal found
            if isinstance(value, tl_core.Tensor):
                found = True
                return _metadata(value)
            return value

        seen = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = seen
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph.

        Args:
            args: its inputs.

        Returns:
            Its result.
        """
        if self.fake_mode is None:
            return super().run(*args)
        given = [self.fake_mode.from_tensor(a) if isinstance(a, tl_core.Tensor) else a for a in args]
        with self.fake_mode:
            return super().run(*given)

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module; in a fake mode, a fake of it.

        Args:
            target: its dotted path.

        Returns:
            The value.
        """
        value = super().fetch_attr(target)
        if self.fake_mode is not None and isinstance(value, tl_core.Tensor):
            return self.fake_mode.from_tensor(value)
        return value

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule; in a fake mode, with fakes of its parameters.

        Args:
            target: its dotted path.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        if self.fake_mode is None:
            return super().call_module(target, args, kwargs)
        from tl_nn.func import functional_call

        module = super().fetch_attr(str(target))
        state = {k: self.fake_mode.from_tensor(v) for k, v in module.state_dict(keep_vars=True).items()}
        return functional_call(module, state, args, kwargs)

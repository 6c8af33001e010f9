"""Shape propagation: a graph is run, and what each value looks like is noted at its node."""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core

from ..node import Node, map_aggregate
from .fake_run import FakeRun

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements.

    Args:
        shape: the sizes.
        dtype: the type.
        requires_grad: whether gradients are recorded.
        stride: the strides.
        memory_format: the memory format, if it has one.
        is_quantized: whether it is quantized.
        qparams: scale, zero point and scheme.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: x + 1)
        >>> _ = ShapeProp(module).propagate(tl_core.ones(2, 3))
        >>> list(module.graph.nodes)[1].meta["tensor_meta"].shape
        torch.Size([2, 3])
    """

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
    memory_format = next((f for f in formats if value.is_contiguous(memory_format=f)), None)
    return TensorMetadata(
        value.shape, value.dtype, value.requires_grad, value.stride(), memory_format, value.is_quantized, {}
    )


class ShapeProp(FakeRun):
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

    def run_node(self, n: Node) -> Any:
        """Runs a node and notes what its value looks like.

        Args:
            n: the node.

        Returns:
            Its value.
        """
        result = super().run_node(n)
        has_tensor = False

        def look(value: Any) -> Any:
            nonlocal has_tensor
            if isinstance(value, tl_core.Tensor):
                has_tensor = True
                return _metadata(value)
            return value

        metadata = map_aggregate(result, look)
        if has_tensor:
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph.

        Args:
            args: its inputs.

        Returns:
            Its result.
        """
        return self._run_faked(tuple(map(self._fake, args)))

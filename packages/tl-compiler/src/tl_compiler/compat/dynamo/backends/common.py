"""`torch._dynamo.backends.common`: a backend of `compile` out of compilers of forward and backward graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_compiler.aot.aot_autograd import aot_module_simplified
from tl_core.subclasses import FakeTensor

__all__ = [
    "AotAutograd",
    "aot_autograd",
    "device_from_inputs",
    "dtype_from_inputs",
    "fake_tensor_unsupported",
]


class AotAutograd:
    """A backend of `compile`: a graph becomes one of its forward and one of its backward pass, which compilers get.

    Args:
        kwargs: what `aot_module_simplified` takes, such as `fw_compiler` and `bw_compiler`.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs
        self.__name__ = "compiler_fn"

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
        """Compiles a graph.

        Args:
            gm: the graph.
            example_inputs: examples of its inputs.
            kwargs: `mode` and `options` of `compile`, which the compilers don't get.

        Returns:
            The function to run.
        """
        settings = {name: value for name, value in self.kwargs.items() if name != "bw_compiler"}
        backward = self.kwargs.get("bw_compiler") or self.kwargs["fw_compiler"]
        return aot_module_simplified(gm, example_inputs, bw_compiler=backward, **settings)


def aot_autograd(**kwargs: Any) -> Callable[..., Any]:
    """A backend of `compile` out of compilers of graphs whose nodes are operators below autograd.

    Args:
        kwargs: what `aot_module_simplified` takes: `fw_compiler`, `bw_compiler`, `inference_compiler`,
            `decompositions`, `partition_fn`.

    Example:
        >>> from tl_compiler.compiler import compile
        >>> def show(graph, examples):
        ...     print([str(n.target) for n in graph.graph.nodes if n.op == "call_function"])
        ...     return graph.forward
        >>> compile(lambda x: x.sin() + 1, backend=aot_autograd(fw_compiler=show))(tl_core.zeros(2))
        ['aten.sin.default', 'aten.add.Tensor']
        tensor([1., 1.])
    """
    return AotAutograd(**kwargs)


def fake_tensor_unsupported(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A backend whose examples are real tensors: zeros where it would get tensors without memory.

    Args:
        fn: the backend.
    """

    @functools.wraps(fn)
    def run(model: Any, inputs: Sequence[Any], **kwargs: Any) -> Any:
        return fn(model, [_real(x) for x in inputs], **kwargs)

    return run


def _real(x: Any) -> Any:
    if not isinstance(x, FakeTensor):
        return x
    return tl_core.zeros(tuple(int(n) for n in x.shape), dtype=x.dtype, device=x.device)


def device_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The device of the first tensor among examples; None without a tensor.

    Args:
        example_inputs: the examples.

    Example:
        >>> device_from_inputs([3, tl_core.ones(2)])
        device(type='cpu')
    """
    return next((x.device for x in example_inputs if isinstance(x, tl_core.Tensor)), None)


def dtype_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The element type of the first tensor among examples; None without a tensor.

    Args:
        example_inputs: the examples.

    Example:
        >>> dtype_from_inputs([3, tl_core.ones(2)])
        torch.float32
    """
    return next((x.dtype for x in example_inputs if isinstance(x, tl_core.Tensor)), None)

"""The backends of `compile` that run graphs as they are."""

from __future__ import annotations

from typing import Any

import tl_core

from .backends import register_debug_backend
from .warn_once import warn_once

__all__ = [
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_default_partitioner",
    "boxed_nop",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "pre_dispatch_eager",
]


def eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs the graph as it is.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: `mode` and `options`, which have no effect; a warning says so once.

    Returns:
        The function to run.
    """
    _warn_of_options("eager", kwargs)
    return gm.forward


def aot_eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs one graph of the forward pass and one of the backward pass as they are.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: `mode` and `options`, which have no effect; a warning says so once.

    Returns:
        The function to run.
    """
    from ..aot.aot_autograd import aot_module_simplified
    from ..aot.compilers import nop

    _warn_of_options("aot_eager", kwargs)
    return aot_module_simplified(gm, fake_tensor_inputs, fw_compiler=nop)


def _warn_of_options(name: str, options: dict[str, Any]) -> None:
    if options:
        warn_once(f"the backend {name!r} has no options; {', '.join(options)}: without effect")


def eager_noexcept(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs the graph as it is; an error of an operator names the backend.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: accepted.

    Returns:
        The function to run.
    """

    def run(*args: Any) -> Any:
        try:
            return gm(*args)
        except Exception as error:
            from .errors import TorchDynamoException

            raise TorchDynamoException("Unexpected exception when running generated GraphModule") from error

    return run


def eager_debug(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs the graph as it is and compares each result with the sizes and types of the capture.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: accepted.

    Returns:
        The function to run.
    """

    from ..fx.interpreter import Interpreter

    class Comparison(Interpreter):
        def run_node(self, n: Any) -> Any:
            out = super().run_node(n)
            expected = n.meta.get("val")
            both = isinstance(out, tl_core.Tensor) and isinstance(expected, tl_core.Tensor)
            if both and (out.dtype, out.ndim) != (expected.dtype, expected.ndim):
                raise AssertionError(
                    f"{n.name}: the capture has {expected.dtype} and {expected.ndim} dimensions, the run "
                    f"{out.dtype} and {out.ndim}"
                )
            return out

    return Comparison(gm).run


def boxed_nop(fx_g: Any, example_inputs: Any) -> Any:
    """A compiler that runs the graph as it is, and takes the inputs in one list.

    Args:
        fx_g: the graph.
        example_inputs: examples.

    Returns:
        The function to run.
    """
    from ..aot.compilers import make_boxed_func

    return make_boxed_func(fx_g.forward)


def pre_dispatch_eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs the graph as it is: graphs of `compile` have operators above autograd.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: accepted.

    Returns:
        The function to run.
    """
    return eager(gm, fake_tensor_inputs)


def aot_eager_decomp_partition(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs graphs of the forward and the backward pass, taken apart into simpler operators.

    The backward pass computes cheap values again.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: accepted.

    Returns:
        The function to run.
    """
    from ..aot.aot_autograd import aot_module_simplified
    from ..aot.compilers import default_decompositions
    from ..aot.partitioners import min_cut_rematerialization_partition

    return aot_module_simplified(
        gm,
        fake_tensor_inputs,
        fw_compiler=boxed_nop,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=default_decompositions,
    )


def aot_eager_default_partitioner(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend that runs graphs of the forward and the backward pass as they are.

    Args:
        gm: the graph.
        fake_tensor_inputs: examples.
        kwargs: accepted.

    Returns:
        The function to run.
    """
    return aot_eager(gm, fake_tensor_inputs)


for _backend in (
    eager,
    aot_eager,
    eager_noexcept,
    eager_debug,
    pre_dispatch_eager,
    aot_eager_decomp_partition,
    aot_eager_default_partitioner,
):
    register_debug_backend(_backend)

"""Graphs of functions: of the forward pass, and of the forward and the backward pass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tl_core
from tl_compiler.aot.aot_autograd import aot_function
from tl_compiler.aot.partitioners import default_partition
from tl_compiler.fx import CodeGen, GraphModule
from tl_compiler.tracer.make_fx import make_fx
from tl_core.subclasses import FakeTensor, FakeTensorMode

from ..decomposition import select_decomp_table
from ..functional_passes import remove_noop_ops, view_to_reshape
from .mutations import clone_graph

__all__ = ["fake_region", "fwd_only", "joint_fwd_bwd"]

Decompositions = dict[Any, Callable[..., Any]]


@contextlib.contextmanager
def fake_region(values: Iterable[Any]) -> Iterator[None]:
    """A region in which functions are traced without computing: the mode of tensors without memory among some values.

    Args:
        values: the values. Without such a tensor among them the mode is a new one.
    """
    modes = (value.fake_mode for value in values if isinstance(value, FakeTensor))
    mode = next(modes, None) or FakeTensorMode()
    before, mode.allow_non_fake_inputs = mode.allow_non_fake_inputs, True  # constants of the functions
    try:
        with mode:
            yield
    finally:
        mode.allow_non_fake_inputs = before


def fwd_only(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    run_functional_passes: bool = True,
    get_decomp_fn: Callable[[], Decompositions] = select_decomp_table,
) -> GraphModule:
    """The graph of a function without gradients.

    Args:
        fn: the function.
        args: examples of its arguments.
        run_functional_passes: whether operators without an effect go, and `view` becomes `reshape`.
        get_decomp_fn: returns the functions that take the place of operators.

    Example:
        >>> graph = fwd_only(lambda x: x.relu() + 1, [tl_core.ones(2)])
        >>> [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
        ['aten.relu.default', 'aten.add.Tensor']
    """
    with tl_core.no_grad():
        gm = make_fx(fn, get_decomp_fn(), tracing_mode="real")(*args)
    if run_functional_passes:
        remove_noop_ops(gm.graph)
        view_to_reshape(gm)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm


def joint_fwd_bwd(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    get_decomp_fn: Callable[[], Decompositions] = select_decomp_table,
) -> GraphModule:
    """The graph of a function with its backward pass. The inputs are those of the function, then the gradients of its
    results. The results are those of the function, then the gradients of its inputs.

    Args:
        fn: the function.
        args: examples of its arguments. Those whose gradient is in the graph require one.
        get_decomp_fn: returns the functions that take the place of operators.

    Raises:
        RuntimeError: no argument requires a gradient, or the function writes to an argument that does.

    Example:
        >>> graph = joint_fwd_bwd(lambda x: x.sin(), [tl_core.ones(2, requires_grad=True)])
        >>> [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
        ['aten.sin.default', 'aten.cos.default', 'aten.mul.Tensor']
    """
    graphs: list[GraphModule] = []

    def record(joint: Any, inputs: Any, **options: Any) -> Any:
        graphs.append(clone_graph(joint))
        return default_partition(joint, inputs, **options)

    with tl_core.enable_grad():
        aot_function(fn, lambda graph, _: graph, partition_fn=record, decompositions=get_decomp_fn())(*args)
    if not graphs:
        raise RuntimeError(
            "joint_fwd_bwd(): an argument must require a gradient, and the function must not write to it"
        )
    (gm,) = graphs
    remove_noop_ops(gm.graph)
    gm.graph.set_codegen(CodeGen())
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm

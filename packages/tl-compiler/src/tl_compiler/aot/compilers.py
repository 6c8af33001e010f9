"""Compilers that `aot_function` takes, and what they are made with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..decompositions import get_decompositions
from .aot_autograd import aot_function, aot_module
from .graph_names import get_aot_graph_name
from .partitioners import min_cut_rematerialization_partition

__all__ = [
    "debug_compile",
    "default_decompositions",
    "draw_graph",
    "draw_graph_compile",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "nnc_jit",
    "nop",
    "print_compile",
    "pythonkey_decompose",
    "ts_compile",
]

_FUSED = (
    "detach gelu_backward leaky_relu_backward sigmoid_backward threshold_backward hardtanh_backward "
    "hardsigmoid_backward hardswish_backward tanh_backward silu_backward elu_backward masked_fill elu leaky_relu "
    "hardtanh hardswish hardsigmoid conj_physical is_same_size"
)


def _fused_decompositions() -> dict[Any, Callable[..., Any]]:
    import tl_core.operators.packets

    return get_decompositions([getattr(tl_core.operators.packets.aten, name) for name in _FUSED.split()])


default_decompositions = _fused_decompositions()
"""The decompositions that `memory_efficient_fusion` uses."""


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """A function that takes its arguments in one list.

    Args:
        f: the function.

    Example:
        >>> make_boxed_func(max)([1, 3])
        3
    """

    def run_boxed(args: list[Any]) -> Any:
        return f(*args)

    run_boxed._boxed_call = True  # type: ignore[attr-defined]
    return run_boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose results take their arguments in one list.

    Args:
        compiler: the compiler.
    """

    def run_boxed(fx_g: Any, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))

    return run_boxed


def nop(fx_g: Any, _: Any = ()) -> Any:
    """A compiler that gives back the graph.

    Args:
        fx_g: the graph.
    """
    return fx_g


def print_compile(fx_g: Any, _: Any = ()) -> Any:
    """A compiler that prints the graph's code, and gives it back.

    Args:
        fx_g: the graph.
    """
    print(fx_g.code)
    return fx_g


def draw_graph(
    traced: Any,
    fname: str,
    figname: str = "fx_graph",
    clear_meta: bool = True,
    prog: str | list[str] | None = None,
    parse_stack_trace: bool = False,
    dot_graph_shape: str | None = None,
) -> None:
    """Draws a graph into a file. Needs the package pydot, and Graphviz for other files than `.dot`.

    Args:
        traced: the graph.
        fname: the file; without an ending, an SVG.
        figname: the name of the drawing.
        clear_meta: whether what is noted of nodes is left out.
        prog: the program of Graphviz that lays out the boxes.
        parse_stack_trace: whether boxes say the line of the program.
        dot_graph_shape: the shape of boxes.
    """
    import copy
    import os

    from ..fx.passes.graph_drawer import FxGraphDrawer

    if clear_meta:
        traced = copy.copy(traced)
        traced.graph = copy.deepcopy(traced.graph)
        for node in traced.graph.nodes:
            node.meta = {}
    base, ending = os.path.splitext(fname)
    drawer = FxGraphDrawer(
        traced, figname, parse_stack_trace=parse_stack_trace, dot_graph_shape=dot_graph_shape
    )
    picture = drawer.get_main_dot_graph()
    write = getattr(picture, f"write_{(ending or '.svg').lstrip('.')}")
    write(f"{base}{ending or '.svg'}", **({} if prog is None else {"prog": prog}))


def draw_graph_compile(name: str) -> Callable[[Any, Any], Any]:
    """A compiler that draws each graph that it gets, and gives it back.

    Args:
        name: how the files' names begin.
    """

    def draw(fx_g: Any, inps: Any = ()) -> Any:
        draw_graph(fx_g, f"{name}_{get_aot_graph_name()}")
        return fx_g

    return draw


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """A function or module whose backward pass makes cheap values again, so that less is kept. No code is generated:
    the graphs run operator by operator.

    Args:
        fn: the function or module.
        kwargs: what `aot_function` takes, such as `static_argnums`.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> memory_efficient_fusion(lambda x: x.sin().cos())(x).sum().backward()
        >>> x.grad
        tensor([-0.4029, -0.4029])
    """
    import tl_nn

    config = {
        "fw_compiler": nop,
        "bw_compiler": nop,
        "partition_fn": min_cut_rematerialization_partition,
        "decompositions": default_decompositions,
        **kwargs,
    }
    return aot_module(fn, **config) if isinstance(fn, tl_nn.Module) else aot_function(fn, **config)


@contextlib.contextmanager
def pythonkey_decompose(decomposition_table: Mapping[Any, Callable[..., Any]]) -> Iterator[Any]:
    """A region in which `aot_function` also takes operators apart by a table.

    Args:
        decomposition_table: from operators to functions.

    Yields:
        The table.
    """
    from . import aot_autograd

    before, aot_autograd.table_of_region = aot_autograd.table_of_region, dict(decomposition_table)
    try:
        yield decomposition_table
    finally:
        aot_autograd.table_of_region = before


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{name}(): it compiles by TorchScript, which isn't there; nop, or a compiler of your own, takes the graph"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = """Compiles a graph by TorchScript.

    Raises:
        NotImplementedError: always.
    """
    return refuse


ts_compile, debug_compile, nnc_jit = map(_refuse, ("ts_compile", "debug_compile", "nnc_jit"))

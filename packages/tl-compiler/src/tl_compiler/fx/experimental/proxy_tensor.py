"""Recording operators while a program runs: `make_fx`, and what its modes offer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_compiler.tracer.make_fx import make_fx
from tl_compiler.tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer, current_mode
from tl_core.dispatch.modes import no_modes
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "handle_sym_dispatch",
    "is_sym_node",
    "make_fx",
    "maybe_disable_thunkify",
    "maybe_enable_thunkify",
    "proxy_call",
    "py_sym_types",
    "snapshot_fake",
]

py_sym_types = (SymInt, SymFloat, SymBool)


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode that records operators now.

    Returns:
        The mode; None if none does.

    Example:
        >>> get_proxy_mode() is None
        True
    """
    return current_mode()


get_innermost_proxy_mode = get_proxy_mode


def handle_sym_dispatch(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function of symbolic numbers, and records the call as a node.

    Args:
        func: the function.
        args, kwargs: its arguments.

    Returns:
        What the function returns.

    Raises:
        AssertionError: nothing records.
    """
    mode = current_mode()
    if mode is None:
        raise AssertionError(
            "handle_sym_dispatch() is called while operators are recorded, and nothing records"
        )
    out = func(*args, **kwargs)
    mode.record_call(func, args, kwargs, out, getattr(func, "__name__", "call"))
    return out


@contextlib.contextmanager
def maybe_enable_thunkify() -> Iterator[None]:
    """A region in which numbers are computed by the graph only where they are needed, as they always are.

    Example:
        >>> import tl_core
        >>> with maybe_enable_thunkify():
        ...     x = tl_core.ones(2)
    """
    yield


@contextlib.contextmanager
def maybe_disable_thunkify() -> Iterator[None]:
    """A region in which numbers are computed as everywhere: by the graph, where they are needed.

    Example:
        >>> import tl_core
        >>> with maybe_disable_thunkify():
        ...     x = tl_core.ones(2)
    """
    yield


@contextlib.contextmanager
def disable_proxy_modes_tracing(enable_current: bool = False) -> Iterator[None]:
    """A region in which nothing is recorded.

    Args:
        enable_current: accepted.

    Example:
        >>> with disable_proxy_modes_tracing():
        ...     pass
    """
    with no_modes():
        yield


def get_isolated_graphmodule(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], tracing_mode: str = "real"
) -> Any:
    """The graph of a call.

    Args:
        func: the function.
        args, kwargs: its arguments.
        tracing_mode: as `make_fx` takes it.

    Returns:
        A graph module.

    Example:
        >>> import tl_core
        >>> graph = get_isolated_graphmodule(lambda x: x + 1, (tl_core.ones(2),), {}).graph
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_function', 'output']
    """
    from tl_core.pytree import tree_flatten

    flat, spec = tree_flatten((args, kwargs))

    def call(*leaves: Any) -> Any:
        positional, keywords = spec.unflatten(leaves)
        return func(*positional, **keywords)

    return make_fx(call, tracing_mode=tracing_mode)(*flat)


def is_sym_node(node: Any) -> bool:
    """Whether the value of a node is a symbolic number.

    Args:
        node: a node.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> is_sym_node(next(iter(symbolic_trace(lambda x: x + 1).graph.nodes)))
        False
    """
    return isinstance(node.meta.get("val"), py_sym_types)


def snapshot_fake(val: Any, include_real: bool = False) -> Any:
    """A copy of what stands for a tensor.

    Args:
        val: the tensor.
        include_real: accepted.
    """
    return val.detach() if isinstance(val, tl_core.Tensor) else val


def proxy_call(
    proxy_mode: ProxyTorchDispatchMode, func: Any, pre_dispatch: bool, args: Any, kwargs: dict[str, Any]
) -> Any:
    """Records a call of an operator.

    Args:
        proxy_mode: the mode that records.
        func: the operator.
        pre_dispatch: the position of the mode, which it knows itself.
        args, kwargs: the arguments.

    Returns:
        The result.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> def call(x):
        ...     return proxy_call(get_proxy_mode(), aten.relu.default, False, (x,), {})
        >>> print(make_fx(call)(tl_core.ones(2)).code.strip())
        def forward(self, x_1):
            relu = torch.ops.aten.relu.default(x_1);  x_1 = None
            return relu
    """
    return proxy_mode.record(func, args, kwargs)

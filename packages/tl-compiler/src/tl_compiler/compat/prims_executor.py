"""`torch._prims.executor`: functions that are traced in each call, and graphs that are run by name of an executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.fx import GraphModule
from tl_compiler.tracer.make_fx import make_fx

__all__ = ["execute", "make_traced"]


def execute(
    gm: GraphModule, *args: Any, executor: str = "aten", executor_parameters: dict[str, Any] | None = None
) -> Any:
    """Runs a graph.

    Args:
        gm: the graph.
        args: the arguments of the graph.
        executor: "aten".
        executor_parameters: settings of the executor; "aten" has none.

    Returns:
        The results of the graph.

    Raises:
        ValueError: there is no such executor.

    Example:
        >>> import tl_core
        >>> execute(make_fx(lambda x: x + 1)(tl_core.zeros(1)), tl_core.ones(1))
        tensor([2.])
    """
    if executor != "aten":
        raise ValueError(f"Received unexpected value for 'executor': {executor}. Allowed values are: aten.")
    return gm.forward(*args)


def make_traced(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that traces another one in each call and runs the graph.

    Args:
        fn: the function.

    Returns:
        The function with a further keyword argument `executor`.

    Example:
        >>> import tl_core
        >>> make_traced(lambda x: x * 2)(tl_core.ones(2), executor="aten")
        tensor([2., 2.])
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        executor = str(kwargs.pop("executor", "aten"))

        def call(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
            return fn(*arguments[0], **arguments[1])

        return execute(make_fx(call)((args, kwargs)), (args, kwargs), executor=executor)

    return run

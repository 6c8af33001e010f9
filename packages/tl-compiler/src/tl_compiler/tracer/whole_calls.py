"""Calls that a trace records as one node, although what is called runs several operators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.pytree import tree_map_only
from tl_core.subclasses.python_dispatch import disable_current_modes

from .proxy_mode import current_mode

__all__ = ["recorded_whole"]


def recorded_whole(
    target: Any,
    args: tuple[Any, ...],
    name: str,
    run: Callable[..., Any] | None = None,
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls an operator that is made of others. A trace that is going on has one node for it.

    Args:
        target: the operator.
        args: its arguments.
        name: the beginning of the node's name.
        run: what a call does; by default a call of the operator.
        kwargs: its keyword arguments.

    Returns:
        The result.
    """
    run, kwargs = target if run is None else run, kwargs or {}
    mode = current_mode()
    if mode is None:
        return run(*args, **kwargs)
    values = args, kwargs
    if mode.tracing_mode != "real":
        values = tree_map_only(tl_core.Tensor, mode.values.fake_of, values)
    with disable_current_modes(), mode.fake_mode or contextlib.nullcontext():
        out = run(*values[0], **values[1])
    mode.record_call(target, args, kwargs, out, name)
    return out

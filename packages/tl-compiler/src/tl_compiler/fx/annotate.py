"""Annotations of values while a program is traced."""

from __future__ import annotations

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Gives a value that is traced an annotation, which generated code repeats.

    Args:
        val: a proxy, or any other value.
        type: the annotation.

    Returns:
        The value.

    Raises:
        RuntimeError: it has another annotation already.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> symbolic_trace(lambda x: annotate(x.neg(), int)).graph.find_nodes(op="call_method")[0].type
        <class 'int'>
    """
    if isinstance(val, Proxy):
        if val.node.type is not None:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} "
                f"and new type is {type}. This could happen if you tried to annotate a function parameter "
                "value (in which case you should use the type slot on the function signature) or you called "
                "annotate on the same value twice"
            )
        val.node.type = type
    return val

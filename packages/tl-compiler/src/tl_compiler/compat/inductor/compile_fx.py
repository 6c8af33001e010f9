"""Names of the reference's code generator for graphs."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule, Node

__all__ = ["compile_fx", "graph_returns_tuple", "split_const_gm"]


def graph_returns_tuple(gm: Any) -> bool:
    """Whether a graph gives a tuple or list, or the several results of one operator; True of what is no graph module.

    Args:
        gm: the graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph_returns_tuple(symbolic_trace(lambda x: x)), graph_returns_tuple(symbolic_trace(lambda x: (x,)))
        (False, True)
    """
    if not isinstance(gm, GraphModule):
        return True
    (value,) = gm.graph.output_node().args
    if isinstance(value, tuple | list):
        return True
    schema = getattr(value.target, "_schema", None) if isinstance(value, Node) else None
    return schema is not None and len(schema.returns) > 1


def compile_fx(model_: Any, example_inputs_: Any, *args: Any, **kwargs: Any) -> Any:
    """Generates code for a graph.

    Args:
        model_: the graph.
        example_inputs_, args, kwargs: accepted.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("compile_fx(): no code is generated; graph modules run as they are")


def split_const_gm(gm: Any, *args: Any, **kwargs: Any) -> Any:
    """Separates what does not depend on the inputs of a graph.

    Args:
        gm: the graph module.
        args, kwargs: accepted.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "split_const_gm(): fx.experimental.const_fold separates what does not depend on inputs"
    )

"""Names of the reference's code generator for graphs."""

from __future__ import annotations

from typing import Any

__all__ = ["compile_fx", "split_const_gm"]


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

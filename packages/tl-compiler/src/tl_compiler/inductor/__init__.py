"""Names of the reference's code generator that libraries import. No code is generated."""

from __future__ import annotations

from typing import Any

from . import config as config

__all__ = ["compile", "config", "cudagraph_mark_step_begin"]


def cudagraph_mark_step_begin() -> None:
    """Nothing: it says where a step begins, for graphs of CUDA kernels, and there are none."""


def compile(gm: Any, example_inputs: Any = (), options: Any = None) -> Any:
    """Generates code for a graph.

    Args:
        gm: the graph.
        example_inputs, options: accepted.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("inductor.compile(): no code is generated; graph modules run as they are")

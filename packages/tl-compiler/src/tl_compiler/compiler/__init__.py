"""`torch.compiler`: functions as graphs that are handed to a backend, and marks for that.

With the default backend, functions and modules run as Python, and their elementwise operators compute together. A
backend of a program's own gets the graphs of its functions, and what it returns is run.
"""

from __future__ import annotations

from typing import Any

from tl_core.dispatch import modes as dispatch_modes

from .._C import in_region
from . import config
from .annotations import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    reset,
    substitute_in_graph,
    wrap_numpy,
)
from .artifacts import load_cache_artifacts, save_cache_artifacts
from .backends import InvalidBackend, list_backends
from .compile import compile  # noqa: A004
from .freeze import freeze
from .graph_backends import eager as _eager  # registers the backends that come with the package
from .replay.explain import explain
from .stance import set_stance

__all__ = [
    "InvalidBackend",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "freeze",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "reset",
    "save_cache_artifacts",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]


def load_compiled_function(
    file: Any, *, f_globals: dict[str, Any] | None = None, external_data: dict[str, Any] | None = None
) -> Any:
    """Loads a function that PyTorch has compiled ahead of time. Such files hold machine code for it.

    Args:
        file: the file.
        f_globals: the globals of the function.
        external_data: what the file refers to.

    Raises:
        NotImplementedError: always; `torch.export` has files of programs that are read.
    """
    raise NotImplementedError(
        "load_compiled_function reads code that PyTorch's own compiler wrote, which only PyTorch runs; "
        "torch.export.load reads programs"
    )


def is_compiling() -> bool:
    """Whether the running code is compiled or exported: it becomes a graph, or its operators compute together.

    Example:
        >>> is_compiling()
        False
        >>> compile(is_compiling)()
        True
    """
    return in_region() or dispatch_modes.is_compiling()


def is_dynamo_compiling() -> bool:
    """Whether the running code is compiled: it becomes a graph for a backend, or its operators compute together.

    Example:
        >>> is_dynamo_compiling()
        False
    """
    return is_compiling() and not dispatch_modes.is_exporting()


def is_exporting() -> bool:
    """Whether the running code is being exported.

    Example:
        >>> is_exporting()
        False
    """
    return dispatch_modes.is_exporting()

"""The names of the compiler. There is none yet: functions and modules run as they are.

All marks and settings for it are accepted and checked, so that programs written for a compiler run unchanged;
`is_compiling()` is True only while a program is exported.
"""

from tl_backends.compiler import config
from tl_backends.compiler.annotations import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    reset,
    set_stance,
    substitute_in_graph,
)
from tl_backends.compiler.compile import InvalidBackend, compile, list_backends  # noqa: A004
from tl_core import dispatch_modes

__all__ = [
    "InvalidBackend",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]


def is_compiling() -> bool:
    """Whether the running code becomes a program instead of computing a result: while it is exported.

    Example:
        >>> is_compiling()
        False
    """
    return dispatch_modes.is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether the running code is being traced: False."""
    return False


def is_exporting() -> bool:
    """Whether the running code is being exported."""
    return dispatch_modes.is_exporting()

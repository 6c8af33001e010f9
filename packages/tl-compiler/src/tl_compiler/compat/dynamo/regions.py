"""Regions of `torch._dynamo` that decide what compiled functions do."""

from __future__ import annotations

from typing import Any

from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler.break_errors import error_on_graph_break

__all__ = ["error_on_graph_break", "patch_dynamo_config"]


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
    """A `with` block or a decorator in which settings of `torch._dynamo.config` have other values.

    Args:
        arg1: a name, with the value as `arg2`, or a dictionary of values by name.
        arg2: the value.
        kwargs: further values by name.

    Example:
        >>> with patch_dynamo_config("recompile_limit", 2):
        ...     config.recompile_limit
        2
    """
    changes = dict(arg1) if isinstance(arg1, tuple) else arg1
    return config.patch(changes, arg2, **kwargs)  # type: ignore[attr-defined]  # the module has methods once it is loaded

"""Small helpers of fx."""

from __future__ import annotations

from typing import Any

from .graph_module import GraphModule
from .names import snake_case

__all__ = ["lazy_format_graph_code", "snake_case"]


def lazy_format_graph_code(name: str, gm: GraphModule, maybe_id: int | None = None, **kwargs: Any) -> str:
    """The code of a graph module with a headline, for logs.

    Args:
        name: what the module is.
        gm: the module.
        maybe_id: its number.
        kwargs: as for `print_readable`.

    Returns:
        The text.
    """
    number = "" if maybe_id is None else f" {maybe_id}"
    return f"TRACED GRAPH\n ===== {name}{number} =====\n {gm.print_readable(print_output=False, **kwargs)}"

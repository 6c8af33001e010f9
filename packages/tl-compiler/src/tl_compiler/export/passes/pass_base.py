"""Passes over the graph of an exported program."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..naming import name_outputs

__all__ = ["apply_passes"]


def apply_passes(ep: Any, passes: Sequence[Callable[[Any], Any]]) -> Any:
    """The program with graph passes applied.

    Args:
        ep: the program.
        passes: each takes a graph module, changes it, and returns it in `graph_module` of what it returns, or nothing.

    Returns:
        The program; the same one where no pass changed anything.
    """
    module = copy.deepcopy(ep.graph_module)
    changed = False
    for one in passes:
        result = one(module)
        if result is not None:
            module = getattr(result, "graph_module", module)
            changed |= bool(getattr(result, "modified", True))
    if not changed:
        return ep
    signature = copy.deepcopy(ep.graph_signature)
    name_outputs(signature, module.graph)
    module.recompile()
    return ep._update(module, signature)

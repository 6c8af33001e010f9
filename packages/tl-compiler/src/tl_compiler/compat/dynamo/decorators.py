"""`torch._dynamo.decorators`: marks for `compile`."""

from __future__ import annotations

from tl_compiler.compiler.annotations import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    forbid_in_graph,
    nonstrict_trace,
    substitute_in_graph,
)
from tl_compiler.compiler.stance import set_stance

from . import (
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    run,
)
from .regions import error_on_graph_break, patch_dynamo_config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "forbid_in_graph",
    "graph_break",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "patch_dynamo_config",
    "run",
    "set_stance",
    "substitute_in_graph",
]

"""`torch._inductor.fx_passes.post_grad`: passes over the graph of the forward or of the backward pass."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule

from .. import config
from ..functional_passes import remove_noop_ops, view_to_reshape
from ..pattern_matcher import PatternMatcherPass
from ..pattern_matcher.ordering import stable_topological_sort

__all__ = ["pass_patterns", "post_grad_passes", "remove_noop_ops", "view_to_reshape"]

#: Programs add patterns here.
pass_patterns = [PatternMatcherPass(), PatternMatcherPass(), PatternMatcherPass()]


def post_grad_passes(gm: GraphModule, is_inference: bool) -> None:
    """Runs the passes, with those of the settings `post_grad_custom_pre_pass` and `post_grad_custom_post_pass`.

    Args:
        gm: the graph module, which is changed.
        is_inference: whether it has no backward pass.
    """
    settings: Any = config
    gm.graph.eliminate_dead_code()
    if settings.post_grad_custom_pre_pass is not None:
        settings.post_grad_custom_pre_pass(gm.graph)
    if settings.pattern_matcher:
        remove_noop_ops(gm.graph)
        for table in pass_patterns:
            table.apply(gm.graph)
    view_to_reshape(gm)
    if settings.post_grad_custom_post_pass is not None:
        settings.post_grad_custom_post_pass(gm.graph)
    stable_topological_sort(gm.graph)
    gm.graph.lint()
    gm.recompile()

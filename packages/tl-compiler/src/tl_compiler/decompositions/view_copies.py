"""Operators that copy what a view shows, as the view and a copy. The others are core operators."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core.pytree import tree_map

from .registry import decomposes

aten = tl_core.operators.packets.aten
_VIEWS = (
    *("alias.default", "diagonal.default", "expand.default", "split_with_sizes.default", "squeeze.default"),
    *("squeeze.dim", "squeeze.dims", "t.default", "transpose.int", "unfold.default", "unsqueeze.default"),
)


def _enter(view: str) -> None:
    base, _, overload = view.partition(".")

    @decomposes(f"{base}_copy.{overload}")
    def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
        shown = getattr(getattr(aten, base), overload)(self, *args, **kwargs)
        return tree_map(lambda t: aten.clone.default(t, memory_format=tl_core.contiguous_format), shown)


for _view in _VIEWS:
    _enter(_view)

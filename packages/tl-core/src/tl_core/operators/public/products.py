"""Products of matrices."""

from __future__ import annotations

import math
from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula, viewed


@formula("linear")
def _linear(r: Recording, x: Any, weight: Any, bias: Any = None) -> Any:
    if weight.ndim != 2 or not r.takes_layers_apart:
        return NotImplemented
    columns = r(aten.t.default, weight)
    if x.ndim == 1:
        out = r(aten.mv.default, r(aten.t.default, columns), x)
        return out if bias is None else r(aten.add.Tensor, out, bias)
    rows = x if x.ndim == 2 else viewed(r, x, [math.prod(x.shape[:-1]), x.shape[-1]])
    if bias is None:
        out = r(aten.mm.default, rows, columns)
    elif bias.ndim == 1:
        out = r(aten.addmm.default, bias, rows, columns)
    else:
        return NotImplemented
    back = aten.view if bias is not None else aten._unsafe_view
    return out if x.ndim == 2 else r(back.default, out, [*x.shape[:-1], weight.shape[0]])

"""Attention."""

from __future__ import annotations

from typing import Any

from tl_core.operators.gradients import rows_lie_outside

from .formula import Recording, formula, named


def _attention_call(mask: Any, scale: float) -> dict[str, Any]:
    return {"scale": scale} if mask is None else {"attn_mask": mask, "scale": scale}


@formula("_attention")
def _attention(
    r: Recording,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    causal: bool,
    scale: float,
    rows_outside: bool,
    rng_state: Any = None,
    dropout: float = 0.0,
) -> Any:
    if rng_state is not None or dropout or rows_outside != rows_lie_outside(query):
        return NotImplemented
    op = named("_scaled_dot_product_flash_attention_for_cpu")
    return r(op, query, key, value, 0.0, causal, **_attention_call(mask, scale))


@formula("_attention_backward")
def _attention_backward(
    r: Recording, grad: Any, query: Any, key: Any, value: Any, mask: Any, *rest: Any
) -> Any:
    output, sums, causal, scale, rng_state, dropout, *needs = rest
    if rng_state is not None or dropout or needs[3]:
        return NotImplemented
    op = named("_scaled_dot_product_flash_attention_for_cpu_backward")
    gradients = r(op, grad, query, key, value, output, sums, 0.0, causal, **_attention_call(mask, scale))
    return *gradients, None

"""Attention of several heads on nested sequences, and batches of padded ones taken as nested."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F

__all__ = ["as_nested_batch", "nested_attention", "padded_again"]


def _nested_module() -> Any:
    from tl_core import nested  # programs without nested tensors do not import it

    return nested


def nested_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    need_weights: bool,
    is_causal: bool,
) -> Tensor:
    """The result of `MultiheadAttention` on nested sequences (B, j, E), without padding.

    Args:
        module: the layer.
        query: nested queries.
        key: nested keys.
        value: nested values.
        attn_mask: must be None.
        key_padding_mask: must be None: nested sequences have no padding.
        need_weights: must be False.
        is_causal: whether later positions are left out.
    """
    _check(module, (query, key, value), attn_mask, key_padding_mask, need_weights)
    if query.layout is tl_core.strided:
        q, k, v = _each_once((query, key, value), _as_jagged)
        output = nested_attention(module, q, k, v, None, None, False, is_causal)
        return _nested_module().as_nested_tensor(list(output.unbind()), layout=tl_core.strided)
    heads = [_heads(t, module.num_heads) for t in _project(module, query, key, value)]
    dropout = module.dropout if module.training else 0.0
    output = F.scaled_dot_product_attention(
        heads[0], heads[1], heads[2], dropout_p=dropout, is_causal=is_causal
    )
    return module.out_proj(output.transpose(1, 2).flatten(2))


def _check(module: Any, tensors: tuple[Tensor, ...], *unsupported: Any) -> None:
    attn_mask, key_padding_mask, need_weights = unsupported
    if not all(t.is_nested for t in tensors) or len({t.layout for t in tensors}) > 1:
        raise AssertionError("MultiheadAttention: query, key and value must all be nested, and of one layout")
    if not module.batch_first:
        raise AssertionError(
            "MultiheadAttention: nested sequences need batch_first=True, as their batch comes first"
        )
    if attn_mask is not None or key_padding_mask is not None:
        raise AssertionError(
            "MultiheadAttention: nested sequences take neither attn_mask nor key_padding_mask"
        )
    if need_weights:
        raise AssertionError(
            "MultiheadAttention: the weights of nested sequences are not kept: need_weights=False"
        )
    if module.bias_k is not None or module.add_zero_attn:
        raise AssertionError(
            "MultiheadAttention: nested sequences take no added keys (add_bias_kv, add_zero_attn)"
        )


def _each_once(tensors: tuple[Tensor, ...], f: Any) -> list[Tensor]:
    """The results of `f`. Equal tensors have one result."""
    tensors_by_id = {id(t): t for t in tensors}
    results_by_id = {key: f(t) for key, t in tensors_by_id.items()}
    return [results_by_id[id(t)] for t in tensors]


def _as_jagged(t: Tensor) -> Tensor:
    return _nested_module().as_nested_tensor(list(t.unbind()), layout=tl_core.jagged)


def _heads(t: Tensor, heads: int) -> Tensor:
    """(B, j, E) as (B, heads, j, E / heads)."""
    return t.unflatten(-1, [heads, -1]).transpose(1, 2)


def _project(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    bias = module.in_proj_bias
    if module._qkv_same_embed_dim and query is key and key is value:
        return tuple(F.linear(query, module.in_proj_weight, bias).chunk(3, -1))
    if module._qkv_same_embed_dim:
        weights = module.in_proj_weight.chunk(3)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    pairs = zip((query, key, value), weights, biases, strict=True)
    return tuple(F.linear(t, weight, b) for t, weight, b in pairs)


def as_nested_batch(src: Tensor, padding: Tensor | None, mask_check: bool) -> Tensor | None:
    """The sequences of a padded batch (B, L, E) as a nested tensor, or None if padding is not only at the ends.

    Args:
        src: the padded batch, of shape (B, L, E).
        padding: True where there is padding, of shape (B, L).
        mask_check: whether the padding is checked. Otherwise the caller guarantees padding at the ends.
    """
    if padding is None or padding.dtype != tl_core.bool or src.dim() != 3 or padding.shape != src.shape[:2]:
        return None
    mask = ~padding
    lengths = mask.sum(1)
    if mask_check and not bool((mask == (tl_core.arange(padding.shape[1]) < lengths[:, None])).all()):
        return None
    return _nested_module().narrow(src, 1, 0, lengths, layout=tl_core.jagged).contiguous()


def padded_again(nested: Tensor, shape: Any) -> Tensor:
    """The batch of `as_nested_batch` with zeros for padding."""
    return _nested_module().to_padded_tensor(nested, 0.0, shape)

"""Attention."""

import math
import warnings
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .affine import linear
from .dropouts import dropout

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

scaled_dot_product_attention = nn_functions.scaled_dot_product_attention


@overridable
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    r"""Attention of several heads, with the projections into and out of them.

    Formula:
        .. math::

            \mathrm{head}_i =
            \mathrm{softmax}\left( \frac{(Q W_i^Q) (K W_i^K)^{\mathsf{T}}}{\sqrt{d}} + \mathrm{mask} \right) V W_i^V
            \qquad y = \mathrm{concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h) \, W^O

        `Q`, `K` and `V` are `query`, `key` and `value`, `h` is `num_heads` and `d` is
        `embed_dim_to_check / num_heads`. The `W` are the projections, each with a bias. The softmax is over the
        keys.

    Args:
        query (Tensor, shape (L, N, E) or (L, E)): The queries: L targets.
        key, value (Tensor, shape (S, N, E_k), (S, N, E_v), or without N): S sources,
            and what they give.
        embed_dim_to_check (int): E, which must be a multiple of `num_heads`.
        num_heads (int): The number of heads, which divides E.
        in_proj_weight (Tensor, shape (3 E, E)): The projections of query, key and value, unless
            `use_separate_proj_weight`.
        in_proj_bias (Tensor, shape (3 E,), optional): The biases of query, key and value, one after the other.
        bias_k, bias_v (Tensor, shape (1, 1, E), optional): One more key and value.
        add_zero_attn (bool): Whether a key and a value of zeros are added.
        dropout_p (float): The probability with which a weight is dropped while `training`.
        out_proj_weight, out_proj_bias (Tensor): The projection of the result.
        key_padding_mask (Tensor, shape (N, S) or (S,), optional): True, or a number that is added, for keys that
            are to be ignored.
        need_weights (bool): Whether the weights are returned. Without it, they are never stored.
        attn_mask (Tensor, shape (L, S) or (N * num_heads, L, S), optional): True, or a number that is added,
            where a query must not look.
        q_proj_weight, k_proj_weight, v_proj_weight (Tensor, optional): With `use_separate_proj_weight`.
        static_k, static_v (Tensor, shape (N * num_heads, S, E / num_heads), optional): Take the place of the
            projected keys and values.
        average_attn_weights (bool): Whether the weights are averaged over the heads.
        is_causal (bool): That `attn_mask` is a causal one.
        training: whether dropout is applied.
        use_separate_proj_weight: whether the projections are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`
            instead of parts of one weight.

    Returns:
        Tensor of query's shape, and the weights, shape (N, L, S) or (N, num_heads, L, S), or None

    Shape:
        - Query: `(L, N, E)` or `(L, E)`. Key: `(S, N, E_k)` or `(S, E_k)`. Value: `(S, N, E_v)` or `(S, E_v)`.
        - `key_padding_mask`: `(N, S)` or `(S,)`. `attn_mask`: `(L, S)` or `(N * num_heads, L, S)`.
        - Output: the result, of the query's shape, and the weights: `(N, L, S)` or `(L, S)`, with
          `average_attn_weights=False` `(N, num_heads, L, S)` or `(num_heads, L, S)`, with `need_weights=False`
          None.

    Notes:
        - A query without a visible key has weights of 0, so its result is the bias of the output, not NaN.
        - `need_weights=False` selects `scaled_dot_product_attention`, which never stores the matrix of weights.
        - Source: Vaswani et al., Attention Is All You Need, 2017.

    Raises:
        AssertionError: If shapes don't fit the number of dimensions, heads or features.
        RuntimeError: If a mask has another shape, or `is_causal` is given without a mask.

    Example:
        >>> import tl_core, tl_nn
        >>> x, w = tl_core.ones(3, 1, 2), tl_core.ones(6, 2)
        >>> f = tl_nn.functional.multi_head_attention_forward
        >>> out, _ = f(x, x, x, 2, 1, w, None, None, None, False, 0.0, w[:2], None)
        >>> out.shape
        torch.Size([3, 1, 2])
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, features = query.shape
    key_padding_mask = _additive_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
    attn_mask, is_causal = _causal_mask(attn_mask, query, is_causal, key_padding_mask, need_weights)
    _check_features(features, embed_dim_to_check, num_heads, key, value, use_separate_proj_weight)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias, separate)
    attn_mask = _three_dimensional(attn_mask, (length, key.shape[0]), batch * num_heads)
    if bias_k is not None or bias_v is not None:
        k, v = _append_biases(k, v, bias_k, bias_v, static_k is not None or static_v is not None)
        attn_mask, key_padding_mask = _wider(attn_mask), _wider(key_padding_mask)
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else _checked_static(static_k, "static_k", q)
    v = _heads(v, num_heads) if static_v is None else _checked_static(static_v, "static_v", q)
    if add_zero_attn:
        zeros = k.new_zeros((k.shape[0], 1, k.shape[2]))
        k, v = tl_core.cat([k, zeros], 1), tl_core.cat([v, zeros], 1)
        attn_mask, key_padding_mask = _wider(attn_mask), _wider(key_padding_mask)
    attn_mask = _merge_masks(attn_mask, key_padding_mask, batch, num_heads, k.shape[1])
    probability = dropout_p if training else 0.0
    weights = None
    if need_weights:
        heads, weights = _attend_with_weights(q, k, v, attn_mask, probability)
        weights = _per_sample(weights, num_heads, average_attn_weights)
    else:
        heads = _attend(q, k, v, attn_mask, probability, is_causal, (batch, num_heads))
    output = heads.transpose(0, 1).contiguous().view(length * batch, features)
    output = linear(output, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.size(0))
    return (output, weights) if batched else _without_batch(output, weights)


def _without_batch(output: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _is_batched(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, num_heads: int
) -> bool:
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    kind = "batched" if dims == 3 else "unbatched"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `key` and `value` to be {dims}-D "
            f"but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != dims - 1:
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D "
            f"but found {padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D "
            f"but found {mask.dim()}-D tensor instead"
        )
    if dims == 2 and mask is not None and mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return dims == 3


def _check_features(
    features: int, expected: int, num_heads: int, key: Tensor, value: Tensor, separate: bool
) -> None:
    if features != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {features}")
    if features % num_heads:
        raise AssertionError(f"embed_dim {features} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _per_sample(weights: Tensor, num_heads: int, average: bool) -> Tensor:
    """The weights (N heads, L, S) as (N, heads, L, S) or, averaged over the heads, as (N, L, S)."""
    weights = weights.view(weights.shape[0] // num_heads, num_heads, *weights.shape[1:])
    return weights.mean(1) if average else weights


def _causal_mask(
    mask: Tensor | None, query: Tensor, is_causal: bool, padding: Tensor | None, need_weights: bool
) -> tuple[Tensor | None, bool]:
    """The mask as numbers that are added, and whether a causal kernel takes its place."""
    if is_causal and mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and padding is None and not need_weights:
        return None, True
    return _additive_mask(mask, "attn_mask", query), is_causal and padding is None


def _additive_mask(
    mask: Tensor | None, name: str, like: Tensor, other: Tensor | None = None, other_name: str = ""
) -> Tensor | None:
    """A mask as numbers that are added: -inf where it is True."""
    if mask is None:
        return None
    if mask.dtype != tl_core.bool and not mask.is_floating_point():
        raise RuntimeError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype != tl_core.bool:
        return mask
    return tl_core.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)


def _project(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    if separate is None and weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if separate is not None and None in [None if w is None else 0 for w in separate]:
        raise AssertionError("use_separate_proj_weight is True but a projection's weight is None")
    if separate is None and weight is not None and query is key and key is value:
        q, k, v = linear(query, weight, bias).chunk(3, -1)
        return q, k, v
    weights: Any = separate if weight is None or separate is not None else weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    return q, k, v


def _three_dimensional(mask: Tensor | None, shape: tuple[int, int], heads: int) -> Tensor | None:
    if mask is None:
        return None
    expected = shape if mask.dim() == 2 else (heads, *shape)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {tuple(mask.shape)}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _append_biases(
    k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, is_static: bool
) -> tuple[Tensor, Tensor]:
    """Keys and values with one more key and value."""
    if bias_k is None or bias_v is None:
        raise AssertionError("bias_k and bias_v must be given together")
    if is_static:
        raise AssertionError("bias cannot be added to static key or value.")
    batch = k.shape[1]
    return tl_core.cat([k, bias_k.expand(1, batch, -1)]), tl_core.cat([v, bias_v.expand(1, batch, -1)])


def _wider(mask: Tensor | None) -> Tensor | None:
    """A mask with room for one more key, which is seen."""
    if mask is None:
        return None
    return tl_core.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def _heads(x: Tensor, num_heads: int) -> Tensor:
    """(L, N, E) as (N heads, L, E / heads)."""
    length, batch, features = x.shape
    return x.reshape(length, batch * num_heads, features // num_heads).transpose(0, 1)


def _checked_static(x: Tensor, name: str, q: Tensor) -> Tensor:
    if x.shape[0] != q.shape[0]:
        raise AssertionError(f"expecting {name}.size(0) of {q.shape[0]}, but got {x.shape[0]}")
    if x.shape[2] != q.shape[2]:
        raise AssertionError(f"expecting {name}.size(2) of {q.shape[2]}, but got {x.shape[2]}")
    return x


def _merge_masks(
    mask: Tensor | None, padding: Tensor | None, batch: int, num_heads: int, keys: int
) -> Tensor | None:
    if padding is None:
        return mask
    if tuple(padding.shape) != (batch, keys):
        raise AssertionError(
            f"expecting key_padding_mask shape of {(batch, keys)}, but got {tuple(padding.shape)}"
        )
    padding = (
        padding.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, keys)
    )
    return padding if mask is None else mask + padding


def _softmax_of_visible(scores: Tensor) -> Tensor:
    """The softmax by rows. A query without visible keys gets zeros."""
    blind = (scores == -math.inf).all(-1, keepdim=True)
    return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)


def _attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float
) -> tuple[Tensor, Tensor]:
    """The heads' results and their weights."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    weights = scores.softmax(-1) if mask is None else _softmax_of_visible(scores + mask)
    if p > 0.0:
        weights = dropout(weights, p)
    return weights @ v, weights


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, is_causal: bool, heads: tuple[int, int]
) -> Tensor:
    """The heads' results. `heads` is the batch and the number of heads of each sample."""
    batch, num_heads = heads
    if mask is not None:
        one = mask.dim() == 3 and mask.shape[0] == 1 and batch * q.shape[0] > 1
        mask = (
            mask.unsqueeze(0)
            if one
            else mask.unflatten(0, (batch, mask.shape[0] // batch if batch else num_heads))
        )
        is_causal = False
    q, k, v = (x.unflatten(0, (batch, num_heads)) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, mask, p, is_causal).flatten(0, 1)

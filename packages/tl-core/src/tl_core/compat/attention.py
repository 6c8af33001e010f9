"""The private operators of the reference's fast path through attention, as compositions."""

from __future__ import annotations

import math

import tl_core
from tl_core import Tensor, nested
from tl_core.operators.packets import aten

__all__: list[str] = []


def _transform_bias_rescale_qkv(
    qkv: Tensor, qkv_bias: Tensor, num_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by head, with their biases; queries are divided by the root of the head's size.

    Args:
        qkv: (batch, length, 3 * embed_dim).
        qkv_bias: (3 * embed_dim,).
        num_heads: how many parts embed_dim is cut into.

    Returns:
        Three tensors of (batch, num_heads, length, embed_dim / num_heads).

    Raises:
        RuntimeError: the last dimension isn't three times a multiple of `num_heads`.
    """
    if qkv.dim() != 3 or qkv.shape[-1] % (3 * num_heads):
        raise RuntimeError(
            f"_transform_bias_rescale_qkv: qkv must be (batch, length, 3 * embed_dim) with embed_dim a multiple of "
            f"num_heads = {num_heads}, got {list(qkv.shape)}"
        )
    batch, length, width = qkv.shape
    size = width // 3 // num_heads
    parts = (qkv + qkv_bias).view(batch, length, 3, num_heads, size).permute(2, 0, 3, 1, 4)
    q, k, v = parts.unbind(0)
    return (q / math.sqrt(size)).contiguous(), k.contiguous(), v.contiguous()


def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention from its inputs' projection to its output's, batch first.

    Args:
        query, key, value: (batch, length, embed_dim).
        embed_dim, num_head: the width, and how many heads share it.
        qkv_weight, qkv_bias: (3 * embed_dim, embed_dim) and (3 * embed_dim,).
        proj_weight, proj_bias: of the output's projection.
        mask: True where nothing is attended to.
        need_weights: whether the weights are a result, averaged over heads if `average_attn_weights`.
        mask_type: 0 for a mask of (queries, keys), 1 for one of (batch, keys), 2 for one of every head.

    Returns:
        The output, (batch, length, embed_dim), and the weights or None.

    Raises:
        RuntimeError: `embed_dim` isn't a multiple of `num_head`, or a mask came without its type.
    """
    if embed_dim % num_head:
        raise RuntimeError(f"embed_dim must be divisible by num_head, got {embed_dim} and {num_head}")
    if mask is not None and mask_type not in (0, 1, 2):
        raise RuntimeError(f"mask_type should be 0, 1 or 2 where a mask is given, got {mask_type}")
    if query.is_nested:
        parameters = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return _of_nested((query, key, value), num_head, parameters, need_weights, average_attn_weights)
    batch, length = query.shape[:2]
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    inputs = zip((query, key, value), weights, biases, strict=True)
    q, k, v = (_by_head(tl_core._C._nn.linear(x, w, b), num_head) for x, w, b in inputs)
    scores = q.mul(1 / math.sqrt(embed_dim // num_head)) @ k.transpose(-2, -1)
    if mask is not None:
        blind = mask.bool()[:, None, None, :] if mask_type == 1 else mask.bool()
        scores = scores.masked_fill(blind, -math.inf)
    attention = scores.softmax(-1)
    joined = (attention @ v).transpose(1, 2).reshape(batch, length, embed_dim)
    output = tl_core._C._nn.linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, attention.mean(1) if average_attn_weights else attention


def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """A layer of a transformer's encoder (Vaswani et al., 2017): attention, then two linear layers, each with its sum
    and normalization.

    Args:
        src: the input, (batch, length, embed_dim).
        embed_dim, num_heads: the width and the number of heads.
        qkv_weight, qkv_bias: the projection of the input, (3 * embed_dim, embed_dim) and (3 * embed_dim,).
        proj_weight, proj_bias: the projection of the output.
        use_gelu: whether the activation is GELU instead of ReLU.
        norm_first: whether each part normalizes its input instead of the sum.
        eps: the term added to the variance.
        norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2: the scales and shifts, (embed_dim,).
        ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2: the two linear layers.
        mask, mask_type: the mask of `_native_multi_head_attention`.

    Returns:
        The output, (batch, length, embed_dim).
    """
    nn = tl_core._C._nn

    def attend(x: Tensor) -> Tensor:
        heads = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias)
        return _native_multi_head_attention(x, x, x, *heads, mask, need_weights=False, mask_type=mask_type)[0]

    def feed(x: Tensor) -> Tensor:
        hidden = nn.linear(x, ffn_weight_1, ffn_bias_1)
        return nn.linear(nn.gelu(hidden) if use_gelu else hidden.relu(), ffn_weight_2, ffn_bias_2)

    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return tl_core.layer_norm(x, (embed_dim,), weight, bias, eps)

    if norm_first:
        src = src + attend(norm(src, norm_weight_1, norm_bias_1))
        return src + feed(norm(src, norm_weight_2, norm_bias_2))
    src = norm(src + attend(src), norm_weight_1, norm_bias_1)
    return norm(src + feed(src), norm_weight_2, norm_bias_2)


def _of_nested(
    inputs: tuple[Tensor, Tensor, Tensor],
    heads: int,
    parameters: tuple[Tensor, Tensor, Tensor, Tensor],
    need_weights: bool,
    average: bool,
) -> tuple[Tensor, Tensor | None]:
    """Attention of sequences of different lengths, padded for the while; the weights stay padded."""
    query, key, value = (nested.to_padded_tensor(x, 0.0) for x in inputs)
    lengths, key_lengths = ([part.shape[0] for part in x.unbind()] for x in inputs[:2])
    blind = tl_core.arange(key.shape[1]) >= tl_core.tensor(key_lengths).unsqueeze(1)
    dense, attention = _native_multi_head_attention(
        query, key, value, query.shape[-1], heads, *parameters, blind, need_weights, average, mask_type=1
    )
    rows = [one[:length] for one, length in zip(dense, lengths, strict=True)]
    return nested.nested_tensor(rows), attention


def _fused_sdp_choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """How attention is computed: 1 by tiles that hold few scores at once, 0 with all of them."""
    tiled = not query.is_nested and query.dim() == 4 and dropout_p == 0 and query.is_floating_point()
    return int(tiled)


def _scaled_dot_product_attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention with the matrix of weights, which is the second result.

    Args:
        query, key, value: the projected sequences, (..., heads, length, features).
        attn_mask: numbers that are added to the scores; a bool counts as 0 or 1.
        dropout_p: the probability of a weight to be dropped.
        is_causal: whether a query sees the keys up to its own position.
        dropout_mask: the weights that stay, in place of random ones.
        scale: the factor of the scores; by default 1 / sqrt(features).
        enable_gqa: whether several heads of the query share a head of the key.

    Raises:
        RuntimeError: both `attn_mask` and `is_causal` are passed.
    """
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        sizes = query.shape[-2], key.shape[-2]
        attn_mask = tl_core.full(sizes, -math.inf, dtype=query.dtype, device=query.device).triu(1)
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    root = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    scores = (query * root) @ (key * root).transpose(-2, -1)
    if attn_mask is not None:
        scores = scores + attn_mask
    weights: Tensor = aten._safe_softmax(scores, -1)
    if dropout_p == 0:
        return weights @ value, weights
    if dropout_mask is None:
        weights = tl_core.dropout(weights, dropout_p, True)
        return weights @ value, weights
    weights = weights.masked_fill(~dropout_mask, 0.0)
    return weights @ (value / (1 - dropout_p)), weights


def _by_head(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)

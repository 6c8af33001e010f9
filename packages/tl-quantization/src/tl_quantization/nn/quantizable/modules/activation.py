"""Attention made of linear layers and of operators whose results can be observed."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

__all__ = ["MultiheadAttention"]


class MultiheadAttention(nn.MultiheadAttention):
    """`tl_nn.MultiheadAttention` with linear layers of its own for queries, keys and values.

    Args:
        embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype:
            As of `tl_nn.MultiheadAttention`.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(5, 2, 8)
        >>> out, weights = MultiheadAttention(8, 2)(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, **kwargs
        )
        from ...quantized.modules.functional_modules import FloatFunctional

        self.linear_Q = nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **kwargs)
        self.linear_K = nn.Linear(self.kdim, self.embed_dim, bias=bias, **kwargs)
        self.linear_V = nn.Linear(self.vdim, self.embed_dim, bias=bias, **kwargs)
        self.out_proj = nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **kwargs)
        self.q_scaling_product = FloatFunctional()
        from ....stubs import DeQuantStub, QuantStub

        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> MultiheadAttention:
        """The layer with the parameters of a `tl_nn.MultiheadAttention`, and its configuration."""
        module = cls(
            other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None, other.bias_k is not None,
            other.add_zero_attn, other.kdim, other.vdim, other.batch_first,
        )  # fmt: skip
        module.bias_k, module.bias_v = other.bias_k, other.bias_v
        module.out_proj.weight, module.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        in_proj_weight = other.in_proj_weight
        weights = (
            (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight)
            if in_proj_weight is None
            else in_proj_weight.chunk(3)
        )
        biases = [None] * 3 if other.in_proj_bias is None else other.in_proj_bias.chunk(3)
        for layer, weight, bias in zip((module.linear_Q, module.linear_K, module.linear_V), weights, biases):
            layer.weight = nn.Parameter(weight.detach().clone())
            layer.bias = None if bias is None else nn.Parameter(bias.detach().clone())  # type: ignore[assignment]
        if hasattr(other, "qconfig"):
            module.qconfig = other.qconfig
        return module.train(other.training)

    def dequantize(self) -> nn.MultiheadAttention:
        """A `tl_nn.MultiheadAttention` with the numbers of this one's parameters."""
        biased = _bias(self.linear_Q) is not None
        module: Any = nn.MultiheadAttention(
            self.embed_dim, self.num_heads, self.dropout, biased, self.bias_k is not None, self.add_zero_attn,
            self.kdim, self.vdim, self.batch_first,
        )  # fmt: skip
        layers = (self.linear_Q, self.linear_K, self.linear_V)
        weights = [_weight(layer) for layer in layers]
        if module.in_proj_weight is not None:
            module.in_proj_weight = nn.Parameter(tl_core.cat(weights))
        else:
            for name, weight in zip("qkv", weights):
                setattr(module, f"{name}_proj_weight", nn.Parameter(weight.clone()))
        if biased:
            module.in_proj_bias = nn.Parameter(tl_core.cat([_bias(layer) for layer in layers]))
            module.out_proj.bias = nn.Parameter(_bias(self.out_proj).clone())
        module.out_proj.weight = nn.Parameter(_weight(self.out_proj).clone())
        module.bias_k, module.bias_v = self.bias_k, self.bias_v
        return module

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The attention's output, and the weights if `need_weights`. See `tl_nn.MultiheadAttention`.

        The projections may be quantized. The attention itself computes with floating numbers.
        """
        if is_causal and attn_mask is None:
            raise AssertionError("is_causal needs attn_mask, which says the same")
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q = self.dequant_q(self.q_scaling_product.mul_scalar(self.linear_Q(query), self.head_dim**-0.5))
        k, v = self.dequant_k(self.linear_K(key)), self.dequant_v(self.linear_V(value))
        k, v, attn_mask, key_padding_mask = self._append_bias_keys(k, v, attn_mask, key_padding_mask)
        q, k, v = (self._heads(x) for x in (q, k, v))
        mixed, weights = self._attend(q, k, v, attn_mask, key_padding_mask)
        mixed = mixed.transpose(1, 2).flatten(2).transpose(0, 1)
        out = self.out_proj(self.quant_attn_output(mixed))
        out = out.transpose(0, 1) if self.batch_first else out
        if not need_weights:
            return out, None
        return out, self.quant_attn_output_weights(weights.mean(1) if average_attn_weights else weights)

    def _heads(self, x: Tensor) -> Tensor:
        """(length, batch, embed) as (batch, head, length, head_dim)."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).permute(1, 2, 0, 3)

    def _append_bias_keys(self, k: Tensor, v: Tensor, mask: Any, padding: Any) -> tuple[Any, Any, Any, Any]:
        """Appends the learned biases and the zeros to keys and values, and columns for them to the masks."""
        added = []
        if self.bias_k is not None:
            added.append((self.bias_k, self.bias_v))
        if self.add_zero_attn:
            added.append((tl_core.zeros(1, 1, self.embed_dim),) * 2)
        for more_k, more_v in added:
            k = tl_core.cat([k, more_k.expand(1, k.shape[1], -1)])
            v = tl_core.cat([v, more_v.expand(1, v.shape[1], -1)])
            mask = None if mask is None else F.pad(mask, (0, 1))
            padding = None if padding is None else F.pad(padding, (0, 1))
        return k, v, mask, padding

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Any, padding: Any) -> tuple[Tensor, Tensor]:
        scores = q @ k.transpose(-2, -1)
        for scores_mask in (
            _by_head(mask, self.num_heads),
            None if padding is None else padding[:, None, None],
        ):
            if scores_mask is not None:
                scores = (
                    scores.masked_fill(scores_mask, float("-inf"))
                    if scores_mask.dtype is tl_core.bool
                    else scores + scores_mask
                )
        weights = F.dropout(F.softmax(scores, -1), self.dropout, self.training)
        return weights @ v, weights


def _by_head(mask: Any, heads: int) -> Any:
    """A mask of (target, source), or of (batch * heads, target, source), for (batch, heads, target, source)."""
    return mask.unflatten(0, (-1, heads)) if mask is not None and mask.dim() == 3 else mask


def _weight(layer: Any) -> Tensor:
    weight = layer.weight() if callable(layer.weight) else layer.weight
    return weight.dequantize() if getattr(weight, "is_quantized", False) else weight.detach()


def _bias(layer: Any) -> Any:
    return layer.bias() if callable(layer.bias) else layer.bias

"""Masks for scaled dot product attention that are known by their kind instead of their elements."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner of the scores in which the triangle of a causal mask begins.

    UPPER_LEFT: query i sees keys up to i. LOWER_RIGHT: the last query sees all keys. They are the same where there
    are as many queries as keys.

    Example:
        >>> CausalVariant.LOWER_RIGHT.name
        'LOWER_RIGHT'
    """

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask, only for the argument `attn_mask` of scaled dot product attention.

    Args:
        variant (CausalVariant): Which corner the triangle begins in.
        seq_len_q, seq_len_kv (int): The numbers of queries and keys.

    Raises:
        NotImplementedError: In any other operator.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        kind: Any = Tensor
        bias = kind._make_subclass(cls, tl_core.empty(0), False)
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask, shape (seq_len_q, seq_len_kv): True for visible pairs."""
        shape = (self.seq_len_q, self.seq_len_kv)
        shift = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        return tl_core.ones(shape, device=device, dtype=tl_core.bool).tril(shift)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") != "scaled_dot_product_attention":
            raise NotImplementedError("CausalBias only supports scaled_dot_product_attention")
        return _attend(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return repr(self._materialize())


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention under a causal mask, which is left to the operator where it has it."""
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    square = attn_mask.seq_len_q == attn_mask.seq_len_kv
    plain = attn_mask.variant is CausalVariant.UPPER_LEFT or square
    mask = None if plain else attn_mask._materialize(query.device)
    return F.scaled_dot_product_attention(
        query, key, value, mask, dropout_p, plain, scale=scale, enable_gqa=enable_gqa
    )


def causal_upper_left(*size: int) -> CausalBias:
    """A causal mask of this size whose triangle begins in the upper left corner.

    Args:
        *size (int): The numbers of queries and keys.

    Raises:
        AssertionError: If there aren't two numbers.

    Example:
        >>> import tl_core, tl_nn
        >>> bias = causal_upper_left(2, 3)
        >>> query, key = tl_core.zeros(1, 1, 2, 4), tl_core.zeros(1, 1, 3, 4)
        >>> value = tl_core.arange(3.0).view(1, 1, 3, 1).expand(1, 1, 3, 4)
        >>> tl_nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)[0, 0, :, 0]
        tensor([0.0000, 0.5000])
    """
    return _causal_bias(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """A causal mask of this size whose triangle begins in the lower right corner. See `causal_upper_left`.

    Example:
        >>> import tl_core, tl_nn
        >>> bias = causal_lower_right(2, 3)
        >>> query, key = tl_core.zeros(1, 1, 2, 4), tl_core.zeros(1, 1, 3, 4)
        >>> value = tl_core.arange(3.0).view(1, 1, 3, 1).expand(1, 1, 3, 4)
        >>> tl_nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)[0, 0, :, 0]
        tensor([0.5000, 1.0000])
    """
    return _causal_bias(CausalVariant.LOWER_RIGHT, size)


def _causal_bias(variant: CausalVariant, size: tuple[int, ...]) -> Any:
    if len(size) != 2:
        raise AssertionError(f"{variant.name.lower()} only supports 2D tensors, got {len(size)} sizes")
    return CausalBias(variant, *size)

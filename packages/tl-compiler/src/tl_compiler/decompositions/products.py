"""Products of vectors and matrices, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes

aten = tl_core.operators.packets.aten


@decomposes("linear.default")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x·Wᵀ + b, over all leading dimensions."""
    if input.ndim == 1 or weight.ndim == 1:
        return NotImplemented
    flat = input
    if input.ndim != 2:
        rows: Any = 1
        for n in input.shape[:-1]:
            rows = rows * n
        flat = _reshape(input, [rows, input.shape[-1]])
    turned = aten.permute.default(weight, [1, 0])
    out = aten.mm.default(flat, turned) if bias is None else aten.addmm.default(bias, flat, turned)
    return out if input.ndim == 2 else aten.view.default(out, [*input.shape[:-1], weight.shape[0]])


@decomposes("matmul.default")
def matmul(self: Any, other: Any) -> Any:
    """Products of matrices; of two batches with the same sizes, or of a batch and one matrix."""
    if self.ndim == 2 and other.ndim == 2:
        return aten.mm.default(self, other)
    if self.ndim == 3 and other.ndim == 3 and bool(self.shape[0] == other.shape[0]):
        return aten.bmm.default(self, other)
    if self.ndim > 2 and self.ndim == other.ndim:
        return _batches(self, other)
    return NotImplemented


def _batches(self: Any, other: Any) -> Any:
    if not all(bool(m == n) for m, n in zip(self.shape[:-2], other.shape[:-2], strict=True)):
        return NotImplemented
    count: Any = 1
    for n in self.shape[:-2]:
        count = count * n
    a = _reshape(self, [count, self.shape[-2], self.shape[-1]])
    b = _reshape(other, [count, other.shape[-2], other.shape[-1]])
    return aten.view.default(aten.bmm.default(a, b), [*self.shape[:-1], other.shape[-1]])


def _reshape(x: Any, shape: list[Any]) -> Any:
    dense = x if x.is_contiguous() else aten.clone.default(x, memory_format=tl_core.contiguous_format)
    return aten.view.default(dense, shape)


@decomposes("mv.default")
def mv(self: Any, vec: Any) -> Any:
    """A matrix times a vector."""
    return aten.squeeze.dims(aten.mm.default(self, aten.unsqueeze.default(vec, 1)), [1])


@decomposes("dot.default")
def dot(self: Any, tensor: Any) -> Any:
    """The sum of products of two vectors."""
    return aten.sum.dim_IntList(self * tensor, [])


@decomposes("addmv.default")
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """β·self + α·M·v."""
    return _add(self, mv(mat, vec), beta, alpha)


@decomposes("baddbmm.default")
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """β·self + α·A·B of batches."""
    return _add(self, aten.bmm.default(batch1, batch2), beta, alpha)


def _add(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (self if beta == 1 else self * beta) + scaled


@decomposes("scaled_dot_product_attention.default")
def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(Q·Kᵀ·s + mask)·V, with half of the scale on each side so that halves don't overflow."""
    if enable_gqa or query.ndim < 3 or not query.ndim == key.ndim == value.ndim:
        return NotImplemented
    root = math.sqrt(scale) if scale is not None else 1 / math.sqrt(math.sqrt(query.shape[-1]))
    turned = aten.permute.default(key, [*range(key.ndim - 2), key.ndim - 1, key.ndim - 2])
    scores = matmul(query * root, turned * root)
    if scores is NotImplemented:
        return NotImplemented
    if is_causal:
        attn_mask = _causal_mask(query.shape[-2], key.shape[-2], query.device)
    if attn_mask is not None:
        scores = scores + _additive(attn_mask, scores)
    weights = aten._softmax.default(scores, -1, False)
    if attn_mask is not None:  # a row of which nothing is left has no weights
        some = aten.any.dim(scores > -math.inf, -1, True)
        weights = aten.where.self(some, weights, aten.full_like.default(weights, 0))
    if dropout_p > 0:
        weights = aten.native_dropout.default(weights, dropout_p, True)[0]
    return matmul(weights, value)


def _causal_mask(rows: Any, columns: Any, device: Any) -> Any:
    at = aten.arange.start_step(0, columns, 1, device=device)
    row = aten.unsqueeze.default(aten.arange.start_step(0, rows, 1, device=device), 1)
    return at <= row


def _additive(mask: Any, scores: Any) -> Any:
    """A mask of bools as numbers that are added."""
    if mask.dtype != tl_core.bool:
        return mask
    out = aten.full.default([], -math.inf, dtype=scores.dtype, device=scores.device)
    zero = aten.full.default([], 0.0, dtype=scores.dtype, device=scores.device)
    return aten.where.self(mask, zero, out)


def _convolution(count: int) -> Any:
    def convolution(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        """A convolution; one without a batch, or with its padding by name, stays whole."""
        if isinstance(padding, str) or input.ndim != count + 2:
            return NotImplemented

        def wide(n: Any) -> list[Any]:
            items = list(n) if isinstance(n, (list, tuple)) else [n]
            return items * count if len(items) == 1 else items

        return aten.convolution.default(
            input, weight, bias, wide(stride), wide(padding), wide(dilation), False, [0] * count, groups
        )

    return convolution


for _count in (1, 2, 3):
    decomposes(f"conv{_count}d.default")(_convolution(_count))

"""What layers of a model do, on jagged nested tensors: products, softmax, normalization, embedding."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap
from tl_core.nested.pointwise import same_structure
from tl_core.nested.reductions import from_padded, padded_values, segments_first
from tl_core.nested.tensor import JAGGED, NestedTensor, as_nested

__all__: list[str] = []


def _same(values: Tensor, self: NestedTensor) -> NestedTensor:
    return as_nested(values, self._ragged, self._ragged_idx)


# ---- products ----
@JAGGED.of("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> NestedTensor:
    if not isinstance(input, NestedTensor) or isinstance(weight, NestedTensor):
        raise RuntimeError("linear(): of a nested tensor and dense weights expected, got a nested weight")
    if input._ragged_idx == input.dim() - 1:
        raise ValueError(
            f"linear(): the last dimension of the input must be regular, got shape {input.shape}; transpose() it first"
        )
    return _same(_C._nn.linear(input.values(), weight, bias), input)


def _no_product(a: Any, b: Any) -> RuntimeError:
    return RuntimeError(f"matmul(): not supported between inputs of shapes {a.shape} and {b.shape}")


@JAGGED.of("matmul", "__matmul__", "bmm")
def _matmul(self: Any, other: Any) -> Any:
    if isinstance(self, NestedTensor) and isinstance(other, NestedTensor):
        return _nested_product(self, other)
    if not isinstance(self, NestedTensor):
        return _dense_first(self, other)
    last = self.dim() - 1
    if self._ragged_idx == last:
        raise _no_product(self, other)
    if other.dim() <= 2:
        return _same(_C.matmul(self.values(), other), self)
    if other.shape[0] not in (1, len(self)) or other.dim() != self.dim():
        raise _no_product(self, other)
    if other.dim() == 3 and self._ragged_idx == 1 and other.dtype == self.dtype:
        ragged = self._ragged
        matrices = other.expand(len(self), *other.shape[1:])
        return _same(_C._segment_matmul(self.values(), matrices, ragged.offsets, ragged.lengths), self)
    return from_padded(_C.matmul(padded_values(self, 0), other), self)


def _dense_first(self: Tensor, other: NestedTensor) -> Any:
    if other._ragged_idx == other.dim() - 1 and self.dim() == 2:
        return _same(_C.matmul(self, other.values()), other)
    raise _no_product(self, other)


def _nested_product(self: NestedTensor, other: NestedTensor) -> Any:
    """(B, D, j) @ (B, j, E): the sum runs over the ragged dimension, so the result is dense."""
    inner = self._ragged_idx == self.dim() - 1 and other._ragged_idx == other.dim() - 2
    if inner and self._ragged.matches(other._ragged) and self.dim() == 3 and self.dtype == other.dtype:
        ragged = self._ragged
        return _C._segment_products(self.values().t(), other.values(), ragged.offsets, ragged.lengths)
    if inner and self._ragged.matches(other._ragged):
        return _C.matmul(padded_values(self, 0), padded_values(other, 0))
    rows = self._ragged_idx == self.dim() - 2 or self._ragged_idx < self.dim() - 2
    if (
        rows
        and self._ragged.matches(other._ragged)
        and self._ragged_idx == other._ragged_idx < self.dim() - 2
    ):
        return _same(_C.matmul(self.values(), other.values()), self)
    raise _no_product(self, other)


@JAGGED.of("__rmatmul__")
def _rmatmul(self: Any, other: Any) -> Any:
    return _matmul(other, self)


# ---- softmax ----
def _of_softmax(name: str, dense: Any, segment: Any) -> None:
    def softmax(input: Any, dim: int, dtype: Any = None) -> NestedTensor:
        if dtype is not None:
            input = input.to(dtype)
        d = wrap(dim, input.dim())
        if d == 0:
            raise RuntimeError(
                f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
            )
        if d != input._ragged_idx:
            return _same(dense(input.values(), d - 1), input)
        rows = segment(segments_first(input), input._ragged.offsets, input._ragged.lengths)
        return _same(rows.movedim(0, d - 1), input)

    JAGGED.of(name, f"_{name}")(softmax)


_of_softmax("softmax", _C.softmax, _C._segment_softmax)
_of_softmax("log_softmax", _C.log_softmax, _C._segment_log_softmax)


# ---- normalization ----
def _check_inner(name: str, input: NestedTensor, normalized_shape: Any) -> None:
    if len(normalized_shape) >= input.dim() - input._ragged_idx:
        raise RuntimeError(
            f"{name}(): normalized_shape extends into irregular dimensions for the nested tensor of shape "
            f"{input.shape}: got {list(normalized_shape)}"
        )


@JAGGED.of("layer_norm")
def _layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *more: Any,
) -> NestedTensor:
    _check_inner("layer_norm", input, normalized_shape)
    return _same(_C.layer_norm(input.values(), normalized_shape, weight, bias, eps), input)


@JAGGED.of("rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> NestedTensor:
    _check_inner("rms_norm", input, normalized_shape)
    return _same(_C.rms_norm(input.values(), normalized_shape, weight, eps), input)


@JAGGED.of("embedding")
def _embedding(weight: Tensor, indices: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    return _same(_C.embedding(weight, indices.values(), *args, **kwargs), indices)


@JAGGED.of("glu")
def _glu(self: Any, dim: int = -1) -> NestedTensor:
    d = wrap(dim, self.dim())
    if d in (0, self._ragged_idx):
        raise RuntimeError("glu(): not supported for nested tensors on the batch or the ragged dimension")
    return _same(_C._nn.glu(self.values(), d - 1), self)


# ---- attention ----
def _heads_first(name: str, t: Any) -> Tensor:
    """(heads, rows, columns) of a nested tensor (B, heads, j, D) or (B, j, D)."""
    if not isinstance(t, NestedTensor):
        raise RuntimeError(
            f"scaled_dot_product_attention(): query, key and value must all be nested, got a dense {name}"
        )
    if t.dim() not in (3, 4) or t._ragged_idx != t.dim() - 2:
        raise RuntimeError(
            f"scaled_dot_product_attention(): {name} must be of shape (B, heads, j, D) or (B, j, D), got {t.shape}"
        )
    return t.values() if t.dim() == 4 else t.values().unsqueeze(0)


def _check_attention(
    query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, enable_gqa: bool
) -> None:
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention(): nested tensors take no attn_mask; is_causal is supported"
        )
    same_structure("scaled_dot_product_attention", (key, value))
    if len(query) != len(key) or query.dim() != key.dim():
        raise RuntimeError(
            f"scaled_dot_product_attention(): query of shape {query.shape} for keys of shape {key.shape}"
        )
    if is_causal and not query._ragged.matches(key._ragged) and query._ragged.counts != key._ragged.counts:
        raise RuntimeError(
            "scaled_dot_product_attention(): is_causal needs queries and keys of the same lengths when they are nested"
        )


@JAGGED.of("scaled_dot_product_attention")
def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> NestedTensor:
    q, k, v = _heads_first("query", query), _heads_first("key", key), _heads_first("value", value)
    _check_attention(query, key, value, attn_mask, is_causal, enable_gqa)
    if q.shape[0] != k.shape[0] and not enable_gqa:
        raise RuntimeError(
            f"scaled_dot_product_attention(): {q.shape[0]} heads of queries for {k.shape[0]} of keys need enable_gqa"
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    at, of = query._ragged, key._ragged
    where = (at.offsets, at.lengths, of.offsets, of.lengths)
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    random = 0 < dropout_p < 1
    state = _ops()._attention_ragged_rng_state(q.shape[0], *where) if random else None
    output = _ops()._attention_ragged(
        q, k, v, *where, is_causal, factor, state, dropout_p if random else 0.0
    )[0]
    if dropout_p == 1:
        output = output * 0
    return as_nested(output if query.dim() == 4 else output.squeeze(0), at, query._ragged_idx)


def _ops() -> Any:
    from tl_core.operators.packets import aten

    return aten

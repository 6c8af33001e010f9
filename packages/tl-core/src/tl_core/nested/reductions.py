"""Reductions and scans of jagged nested tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap, wrap_all
from tl_core.nested.tensor import JAGGED, NestedTensor, as_nested

__all__ = ["padded_values", "segments_first"]

_EXTREMES = {"amax": -1, "max": -1, "argmax": -1, "cummax": -1, "amin": 1, "min": 1, "argmin": 1, "cummin": 1}


def segments_first(self: NestedTensor) -> Tensor:
    """The values with the ragged dimension first."""
    values = self.values()
    return values if self._ragged_idx == 1 else values.movedim(self._ragged_idx - 1, 0)


def padded_values(self: NestedTensor, padding: Any) -> Tensor:
    """A dense tensor of the nested one's shape, the ragged dimension filled up."""
    ragged = self._ragged
    rows = _C._jagged_to_padded(
        segments_first(self), ragged.offsets, ragged.lengths, ragged.max_length, padding
    )
    return rows.movedim(1, self._ragged_idx)


def from_padded(padded: Tensor, like: NestedTensor) -> NestedTensor:
    """The inverse of `padded_values`; spaces between components are zeros."""
    at, ragged = like._ragged_idx, like._ragged
    total = segments_first(like).shape[0]
    rows = _C._padded_to_jagged(padded.movedim(at, 1), ragged.offsets, ragged.lengths, total)
    return as_nested(rows.movedim(0, at - 1), ragged, at)


def _neutral(name: str, dtype: Any) -> Any:
    """What padding does not change the reduction."""
    if name in ("all", "prod", "cumprod"):
        return 1
    if name not in _EXTREMES:
        return 0
    sign = _EXTREMES[name]
    if dtype.is_floating_point:
        return sign * float("inf")
    if dtype is _C.bool:
        return sign > 0
    from tl_core.base.type_info import iinfo

    return iinfo(dtype).max if sign > 0 else iinfo(dtype).min


class _Dims:
    """The dimensions of a reduction, apart: the batch, the ragged one, and those of the values."""

    def __init__(self, name: str, self_: NestedTensor, dim: Any) -> None:
        at = self_._ragged_idx
        self.indices = wrap_all(dim, self_.dim())
        self.batch, self.ragged = 0 in self.indices, at in self.indices
        self.all = len(self.indices) == self_.dim()
        if self.batch and not self.ragged:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for "
                "nested tensors"
            )
        self.value_dims = [d - 1 for d in self.indices if d not in (0, at)]  # in the values
        self.before = sum(d < at - 1 for d in self.value_dims)


def _along_values(self: NestedTensor, dims: _Dims, keepdim: bool, reduce: Callable[..., Any]) -> Any:
    """A reduction of regular dimensions only, or of all: `reduce(values, dims, keepdim)`."""
    if dims.batch:
        compact = self if self._ragged.lengths is None else self.contiguous()
        along = sorted({*dims.value_dims, self._ragged_idx - 1})
        result = reduce(compact.values(), along, keepdim)
        return _each(result, lambda t: t.unsqueeze(0) if keepdim else t)
    result = reduce(self.values(), dims.value_dims, keepdim)
    at = self._ragged_idx - (0 if keepdim else dims.before)
    return _each(result, lambda t: as_nested(t, self._ragged, at))


def _each(result: Any, f: Callable[[Tensor], Any]) -> Any:
    """The function of a tensor, or of each in a named tuple."""
    return f(result) if isinstance(result, Tensor) else type(result)([f(t) for t in result])


def _several(name: str, self: Any, dim: Any, keepdim: bool, over_values: Any, over_ragged: Any) -> Any:
    """A reduction of any dimensions: over regular ones first, then over the ragged one."""
    dims = _Dims(name, self, dim)
    if dims.batch or not dims.ragged:
        return _along_values(self, dims, keepdim, over_values)
    if dims.value_dims:
        self = as_nested(over_values(self.values(), dims.value_dims, True), self._ragged, self._ragged_idx)
    reduced = over_ragged(self)  # (batch, other dimensions)
    result = reduced.unsqueeze(self._ragged_idx)
    if keepdim:
        return result
    removed = sorted((d for d in dims.indices), reverse=True)
    for d in removed:
        result = result.squeeze(d)
    return result


def _segment(operator: Any, self: NestedTensor) -> Tensor:
    return operator(segments_first(self), self._ragged.offsets, self._ragged.lengths)


def _counts(self: NestedTensor, like: Tensor) -> Tensor:
    lengths = self._ragged.length_tensor.to(like.dtype)
    return lengths.view(-1, *(1,) * (like.dim() - 1))


@JAGGED.of("sum")
def _sum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        self = self.to(dtype)
    return _several(
        "sum", self, dim, keepdim, lambda t, d, k: _C.sum(t, d, k), lambda t: _segment(_C._segment_sum, t)
    )


@JAGGED.of("mean")
def _mean(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        self = self.to(dtype)

    def over_ragged(t: NestedTensor) -> Tensor:
        total = _segment(_C._segment_sum, t)
        return total / _counts(t, total)

    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {self.dtype}"
        )
    return _several("mean", self, dim, keepdim, lambda t, d, k: _C.mean(t, d, k), over_ragged)


def _of_extreme(name: str, operator: Any, segment: Any) -> None:
    def extreme(self: NestedTensor, dim: Any = (), keepdim: bool = False) -> Any:
        return _several(
            name, self, dim, keepdim, lambda t, d, k: operator(t, d, k), lambda t: _segment(segment, t)
        )

    JAGGED.of(name)(extreme)


_of_extreme("amax", _C.amax, _C._segment_amax)
_of_extreme("amin", _C.amin, _C._segment_amin)


def _by_padding(name: str, self: Any, dim: int, keepdim: bool, operator: Any) -> Any:
    """A reduction of one dimension, on padded values where it is the ragged one: `operator(t, dim, keepdim)`."""
    d = wrap(dim, self.dim())
    if d == self._ragged_idx:
        return operator(padded_values(self, _neutral(name, self.dtype)), d, keepdim)
    dims = _Dims(name, self, d)
    return _along_values(self, dims, keepdim, lambda t, one, k: operator(t, one[0], k))


def _compact_values(self: NestedTensor) -> Tensor:
    return (self if self._ragged.lengths is None else self.contiguous()).values()


def _of_one_dim(name: str) -> None:
    """max, argmin, prod, ...: of everything, or along one dimension."""
    operator = getattr(_C, name)

    def reduction(self: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if isinstance(dim, NestedTensor):
            return (_C.maximum if name == "max" else _C.minimum)(self, dim)
        if dim is None:
            return operator(_compact_values(self), **kwargs)
        return _by_padding(name, self, dim, keepdim, lambda t, d, k: operator(t, d, k, **kwargs))

    JAGGED.of(name)(reduction)


for _name in ("max", "min", "argmax", "argmin", "prod"):
    _of_one_dim(_name)


def _of_truth(name: str, operator: Any) -> None:
    def truth(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return operator(_compact_values(self))
        mask = self != 0
        if isinstance(dim, int):
            return _by_padding(name, mask, dim, keepdim, operator)
        for d in sorted((wrap(d, self.dim()) for d in dim), reverse=True):
            mask = _by_padding(name, mask, d, keepdim, operator)
        return mask

    JAGGED.of(name)(truth)


_of_truth("all", _C.all)
_of_truth("any", _C.any)


@JAGGED.of("logsumexp")
def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    def over_ragged(t: NestedTensor) -> Tensor:
        values, ragged = segments_first(t), t._ragged
        shift = _C._segment_amax(values.detach(), ragged.offsets, ragged.lengths)
        shift = shift.masked_fill(shift.abs() == float("inf"), 0)
        spread = _C._segment_expand(shift, ragged.offsets, ragged.lengths, values.shape[0])
        return _C._segment_sum((values - spread).exp(), ragged.offsets, ragged.lengths).log() + shift

    return _several("logsumexp", self, dim, keepdim, lambda t, d, k: _C.logsumexp(t, d, k), over_ragged)


def _moments(self: NestedTensor, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """The variance and the mean."""
    dims = _Dims("var", self, dim)
    if dims.batch or not dims.ragged:
        mean = _along_values(self, dims, keepdim, lambda t, d, k: _C.mean(t, d, k))
        variance = _along_values(
            self, dims, keepdim, lambda t, d, k: _C.var(t, d, correction=correction, keepdim=k)
        )
        return variance, mean
    mean = _mean(self, dim, True)
    squares = (self - mean).square() if not self.dtype.is_complex else (self - mean).abs().square()
    total = _sum(squares, dim, True)
    count: Any = _counts(self, total)
    for d in dims.value_dims:
        count = count * self.values().shape[d]
    variance = total / (count - correction).clamp_min(0)
    if keepdim:
        return variance, mean
    for d in sorted(dims.indices, reverse=True):
        variance, mean = variance.squeeze(d), mean.squeeze(d)
    return variance, mean


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """`var(x, unbiased)` and `var(x, dim, unbiased)`, too."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    return dim, 1 if correction is None else correction


@JAGGED.of("var")
def _var(
    self: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    dim, correction = _correction(dim, unbiased, correction)
    return _moments(self, dim, correction, keepdim)[0]


@JAGGED.of("std")
def _std(
    self: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    return _var(self, dim, unbiased, keepdim, correction=correction).sqrt()


@JAGGED.of("var_mean")
def _var_mean(
    self: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    dim, correction = _correction(dim, unbiased, correction)
    return _moments(self, dim, correction, keepdim)


@JAGGED.of("count_nonzero")
def _count_nonzero(self: Any, dim: Any = None) -> Any:
    return _sum((self != 0).long(), dim)


@JAGGED.of("norm", "linalg_vector_norm", "vector_norm")
def _norm(self: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = (self if dtype is None else self.to(dtype)).abs()
    if p in ("fro", None):
        p = 2
    if p == float("inf"):
        return _reduce("amax", x, dim, keepdim)
    if p == -float("inf"):
        return _reduce("amin", x, dim, keepdim)
    if p == 0:
        return _sum((x != 0).to(x.dtype), dim, keepdim)
    return _sum(x.pow(p), dim, keepdim).pow(1 / p)


def _reduce(name: str, self: Any, dim: Any, keepdim: bool) -> Any:
    return JAGGED.rules[name](self, () if dim is None else dim, keepdim)


# ---- scans ----
def _of_scan(name: str) -> None:
    operator = getattr(_C, name)

    def scan(self: NestedTensor, dim: int, **kwargs: Any) -> Any:
        d = wrap(dim, self.dim())
        if d == 0:
            raise RuntimeError(f"{name}(): not supported for nested tensors on dim=0")
        if d != self._ragged_idx:
            result = operator(self.values(), d - 1, **kwargs)
            return _each(result, lambda t: as_nested(t, self._ragged, self._ragged_idx))
        result = operator(padded_values(self, _neutral(name, self.dtype)), d, **kwargs)
        return _each(result, lambda t: from_padded(t, self))

    JAGGED.of(name)(scan)


for _name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"):
    _of_scan(_name)


def _of_order(name: str) -> None:
    """sort, argsort and topk along regular dimensions."""
    operator = getattr(_C, name)

    def order(self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
        n = 1 if name == "topk" else 0
        dim = args[n] if len(args) > n else kwargs.pop("dim", -1)
        d = wrap(dim, self.dim())
        if d in (0, self._ragged_idx):
            raise RuntimeError(
                f"{name}(): not supported for nested tensors on the batch or the ragged dimension"
            )
        result = operator(self.values(), *args[:n], dim=d - 1, **kwargs)
        return _each(result, lambda t: as_nested(t, self._ragged, self._ragged_idx))

    JAGGED.of(name)(order)


for _name in ("sort", "argsort", "topk"):
    _of_order(_name)

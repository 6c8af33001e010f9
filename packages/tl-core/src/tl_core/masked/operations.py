"""Reductions and other operations along dimensions in which only the elements of a mask count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.masked.maskedtensor.core import is_masked_tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

Dims = int | Sequence[int] | None

_INF = float("inf")


# ---- masks and what stands for elements that do not count ----
def _check(name: str, input: Any, mask: Any) -> tuple[Tensor, Tensor | None]:
    """The elements, and a mask of their shape; of a masked tensor its data and its mask, with the other one."""
    own = None
    if is_masked_tensor(input):
        input, own = input._data(), input.get_mask()
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if input.layout is not _C.strided:
        raise ValueError(f"masked {name} expects strided tensor (got {input.layout} tensor)")
    expanded = None if mask is None else _expand_mask(name, mask, input)
    return input, expanded if own is None else own if expanded is None else own & expanded


def _expand_mask(name: str, mask: Any, input: Tensor) -> Tensor:
    """A mask as bool, of the input's shape."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name}(): argument 'mask' must be Tensor, not {type(mask).__name__}")
    if mask.dim() > input.dim():
        raise IndexError(
            f"{name}(): expected broadcastable mask (got mask dimensionality higher than of the input): "
            f"{tuple(mask.shape)} for {tuple(input.shape)}"
        )
    return mask.bool().expand(input.shape)


def _fill(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    return input if mask is None else _C.where(mask, input, value)


def _least(dtype: Any) -> Any:
    return _limit(dtype, -1)


def _greatest(dtype: Any) -> Any:
    return _limit(dtype, 1)


def _limit(dtype: Any, sign: int) -> Any:
    if dtype.is_floating_point:
        return sign * _INF
    if dtype is _C.bool:
        return sign > 0
    from tl_core.base.type_info import iinfo

    return iinfo(dtype).max if sign > 0 else iinfo(dtype).min


# The value that changes nothing, by operation: a number, or a function of the element type.
_NEUTRAL: dict[str, Any] = {
    "sum": 0, "cumsum": 0, "mean": 0, "var": 0, "std": 0, "norm": 0, "prod": 1, "cumprod": 1, "all": True, "any": False,
    "amax": _least, "argmax": _least, "amin": _greatest, "argmin": _greatest, "softmin": _greatest,
    "softmax": _least, "log_softmax": _least, "logsumexp": _least, "logaddexp": _least, "median": float("nan"),
}  # fmt: skip


def neutral(name: str, dtype: Any) -> Any:
    """What stands for the elements that do not count."""
    value = _NEUTRAL.get(name)
    if value is None:
        raise NotImplementedError(f"{name}: there is no value that stands for masked elements")
    return value(dtype) if callable(value) else value


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Tensor:
    """The input with the operation's neutral value where a mask is false."""
    name = op if isinstance(op, str) else op.__name__
    x, counted = _check(name, input, mask)
    return _fill(x, counted, neutral(name, x.dtype))


def _input_mask(input: Any, *args: Any, mask: Any = None, **how: Any) -> Tensor:
    """Which elements of a function's input count."""
    x, counted = _check("_input_mask", input, mask)
    return _C.ones(x.shape, dtype=_C.bool, device=x.device) if counted is None else counted


def _output_mask(op: Any, input: Any, *args: Any, **how: Any) -> Tensor:
    """Which elements of a function's result come from elements that count."""
    name = op if isinstance(op, str) else op.__name__
    mask = _input_mask(input, mask=how.get("mask"))
    if name in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"):
        return mask
    if name not in _NEUTRAL or name == "logaddexp":
        raise ValueError(f"_output_mask(): no rule for {name}")
    arguments = args[1:] if name == "norm" else args
    dim = arguments[0] if arguments else how.get("dim", -1 if name == "median" else None)
    return mask.sum(_dims(dim, mask.dim()), bool(how.get("keepdim"))) > 0 if mask.dim() else mask


def _dims(dim: Dims, ndim: int) -> list[int]:
    if dim is None:
        return list(range(ndim))
    indices = [dim] if isinstance(dim, int) else list(dim)
    if not indices:
        return list(range(ndim))
    wrapped = []
    for d in indices:
        if not -max(ndim, 1) <= d < max(ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], "
                f"but got {d})"
            )
        wrapped.append(d % max(ndim, 1))
        if wrapped.count(wrapped[-1]) > 1:
            raise RuntimeError(f"dim={wrapped[-1]} appears multiple times in the list of dims")
    return [d for d in wrapped if d < ndim]


def _keepdim(keepdim: bool | None) -> bool:
    return bool(keepdim)


def _convert(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None or dtype is input.dtype else input.to(dtype)


def _summable(x: Tensor, dtype: Any) -> Tensor:
    """In the type asked for, else as int64 for integers and bool."""
    inexact = x.dtype.is_floating_point or x.dtype.is_complex
    return _convert(x, dtype or (x.dtype if inexact else _C.int64))


def _inexact(name: str, input: Tensor, dtype: Any) -> Tensor:
    x = _convert(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise ValueError(
            f"{name}(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {x.dtype}"
        )
    return x


def _count(x: Tensor, mask: Tensor | None, dims: list[int], keepdim: bool) -> Tensor:
    ones = _C.ones_like(x, dtype=_C.int64) if mask is None else mask.long()
    return _C.sum(ones, dims, keepdim) if dims else ones


# ---- reductions ----


def sum(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that count.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: int64 for integers, else that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> sum(x, 1, mask=mask)
        tensor([1., 7.])
    """
    x, counted = _check("sum", input, mask)
    x = _summable(x, dtype)
    return _C.sum(_fill(x, counted, 0), _dims(dim, x.dim()), _keepdim(keepdim), dtype=x.dtype)


def prod(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that count.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: int64 for integers, else that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> prod(x, 1, mask=mask)
        tensor([ 1., 12.])
    """
    x, counted = _check("prod", input, mask)
    result, dims = _fill(_summable(x, dtype), counted, 1), _dims(dim, x.dim())
    for d in sorted(dims, reverse=True):
        result = _C.prod(result, d, True, dtype=result.dtype)
    return _without(result, dims, keepdim) if dims else result.clone()


def amax(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that count; of none, the least number of the type.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> amax(x, 1, mask=mask)
        tensor([1., 4.])
    """
    x, counted = _check("amax", input, mask)
    x = _convert(x, dtype)
    dims = _dims(dim, x.dim())
    return (
        _C.amax(_fill(x, counted, neutral("amax", x.dtype)), dims, _keepdim(keepdim)) if dims else x.clone()
    )


def amin(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least of the elements that count; of none, the greatest number of the type.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> amin(x, 1, mask=mask)
        tensor([1., 3.])
    """
    x, counted = _check("amin", input, mask)
    x = _convert(x, dtype)
    dims = _dims(dim, x.dim())
    return (
        _C.amin(_fill(x, counted, neutral("amin", x.dtype)), dims, _keepdim(keepdim)) if dims else x.clone()
    )


def argmax(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the largest of the elements that count, in the input's type unless `dtype` says another.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension. Default: of all elements in one row.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> argmax(x, 1, mask=mask)
        tensor([0., 1.])
    """
    x, counted = _check("argmax", input, mask)
    x = _convert(x, dtype)
    result = _C.argmax(_fill(x, counted, neutral("argmax", x.dtype)), dim, _keepdim(keepdim))
    return result.to(x.dtype)


def argmin(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the least of the elements that count, in the input's type unless `dtype` says another.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension. Default: of all elements in one row.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> argmin(x, 1, mask=mask)
        tensor([0., 0.])
    """
    x, counted = _check("argmin", input, mask)
    x = _convert(x, dtype)
    result = _C.argmin(_fill(x, counted, neutral("argmin", x.dtype)), dim, _keepdim(keepdim))
    return result.to(x.dtype)


def mean(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that count; NaN of none.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        IndexError: `mask` has more dimensions than `input`, or there is no such dimension.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> mean(x, 1, mask=mask)
        tensor([1.0000, 3.5000])
    """
    x, counted = _check("mean", input, mask)
    x, dims, keep = _inexact("mean", x, dtype), _dims(dim, x.dim()), _keepdim(keepdim)
    if counted is None:
        return _C.mean(x, dims, keep) if dims else x.clone()
    total = _C.sum(_fill(x, counted, 0), dims, keep) if dims else _fill(x, counted, 0)
    return total / _count(x, counted, dims, keep)


def _without(tensor: Tensor, dims: list[int], keepdim: bool | None) -> Tensor:
    """Dimensions of size 1 left out, unless they stay."""
    if keepdim:
        return tensor
    for d in sorted(dims, reverse=True):
        tensor = tensor.squeeze(d)
    return tensor


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median of the elements that count, of two the lower one; NaN of none.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Raises:
        ValueError: integers of which none counts.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> median(x, 1, mask=mask)
        tensor([1., 3.])
    """
    x, counted = _check("median", input, mask)
    x = _convert(x, dtype)
    if counted is None:
        return _C.median(x, dim, keepdim)[0]
    if x.dtype.is_floating_point:
        return _C.nanmedian(_fill(x, counted, float("nan")), dim, keepdim)[0]
    if not bool(counted.any(dim).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    double = _C.nanmedian(_fill(x.double(), counted, float("nan")), dim, True)[1]
    values = x.gather(dim, double)
    return values if keepdim else values.squeeze(dim)


def logsumexp(
    input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements that count.

    Args:
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> logsumexp(x, 1, mask=mask)
        tensor([1.0000, 4.3133])
    """
    x, counted = _check("logsumexp", input, mask)
    result_type = dtype or x.dtype
    values = x if result_type.is_floating_point or result_type.is_complex else x.float()
    values = _convert(values, dtype) if values is x else values
    return _C.logsumexp(_fill(values, counted, -_INF), _dims(dim, x.dim()), keepdim).to(result_type)


def norm(
    input: Any,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the elements that count.

    Args:
        ord: the exponent.
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> norm(x, 2.0, 1, mask=mask)
        tensor([1., 5.])
    """
    x, counted = _check("norm", input, mask)
    x = _inexact("norm", x, dtype)
    power = 2.0 if ord is None else ord
    filled = _fill(x, counted, _INF if power < 0 else 0)
    return _C._linalg.linalg_vector_norm(filled, power, _dims(dim, x.dim()), _keepdim(keepdim))


def _spread(
    name: str,
    input: Any,
    dim: Dims,
    unbiased: bool | None,
    correction: Any,
    keepdim: bool | None,
    dtype: Any,
    mask: Any,
) -> Tensor:
    """The variance."""
    if unbiased is not None and correction is not None:
        raise RuntimeError(f"{name}(): only one of unbiased and correction may be given")
    less: Any = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    x, counted = _check(name, input, mask)
    x = _convert(x, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.float()
    dims, keep = _dims(dim, x.dim()), _keepdim(keepdim)
    count = _count(x, counted, dims, True)
    centered = x - (_C.sum(_fill(x, counted, 0), dims, True) if dims else _fill(x, counted, 0)) / count
    squares = (centered * centered.conj()).real if x.dtype.is_complex else centered * centered
    total = _fill(squares, counted, 0)
    total = _C.sum(total, dims, True) if dims else total
    return _without((total / (count - less).clamp_min(0)).to(x.dtype), dims, keep)


def var(
    input: Any,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that count.

    Args:
        unbiased: False for a correction of 0.
        correction: what is taken from the number of elements. Default: 1.
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`, float32 for integers.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> var(x, 1, mask=mask)
        tensor([   nan, 0.5000])
    """
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Any,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that count.

    Args:
        unbiased: False for a correction of 0.
        correction: what is taken from the number of elements. Default: 1.
        input: a tensor, or a masked one.
        dim: which dimensions go. Default: all.
        keepdim: whether the dimensions stay, of size 1.
        dtype: of the result. Default: that of `input`, float32 for integers.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> std(x, 1, mask=mask)
        tensor([   nan, 0.7071])
    """
    return _spread("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


# ---- along a dimension ----
def _along(name: str, input: Any, dtype: Any, mask: Any, operator: Callable[[Tensor], Tensor]) -> Tensor:
    """An operation of one dimension on the elements, others replaced by the neutral value."""
    x, counted = _check(name, input, mask)
    x = _convert(x, dtype)
    return operator(_fill(x, counted, neutral(name, x.dtype)))


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the elements that count; 0 for the others.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> softmax(x, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.2689, 0.7311]])
    """
    return _along("softmax", input, dtype, mask, lambda x: _C.softmax(x, dim))


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax of the elements that count; -inf for the others.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> log_softmax(x, 1, mask=mask)
        tensor([[ 0.0000,    -inf],
                [-1.3133, -0.3133]])
    """
    return _along("log_softmax", input, dtype, mask, lambda x: _C.log_softmax(x, dim))


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negatives of the elements that count; 0 for the others.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> softmin(x, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.7311, 0.2689]])
    """
    return _along("softmin", input, dtype, mask, lambda x: _C.softmax(-x, dim))


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The cumulative sums of the elements that count.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> cumsum(x, 1, mask=mask)
        tensor([[1., 1.],
                [3., 7.]])
    """
    return _along("cumsum", input, dtype, mask, lambda x: _C.cumsum(x, dim).to(x.dtype))


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The cumulative products of the elements that count.

    Args:
        input: a tensor, or a masked one.
        dim: along which dimension.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> cumprod(x, 1, mask=mask)
        tensor([[ 1.,  1.],
                [ 3., 12.]])
    """
    return _along("cumprod", input, dtype, mask, lambda x: _C.cumprod(x, dim).to(x.dtype))


def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements that count, divided by their norm; 0 for the others.

    Args:
        input: a tensor, or a masked one.
        ord: the exponent of the norm.
        dim: along which dimension.
        eps: the least number to divide by.
        dtype: of the result. Default: that of `input`.
        mask: true for the elements that count; broadcast with `input`. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
        >>> normalize(x, 2.0, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.6000, 0.8000]])
    """
    x, counted = _check("normalize", input, mask)
    x = _inexact("normalize", x, dtype)
    return _fill(x, counted, 0) / norm(x, ord, dim, keepdim=True, mask=counted).clamp_min(eps)


def logaddexp(
    input: Any,
    other: Any,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of two exponentials, element by element; what does not count adds nothing.

    Args:
        input, other: tensors, or masked ones.
        dtype: of the result. Default: that of `input`.
        input_mask, other_mask: true for the elements that count. Default: all.

    Example:
        >>> import tl_core as tl
        >>> x = tl.zeros(2)
        >>> logaddexp(x, x, input_mask=tl.tensor([True, True]), other_mask=tl.tensor([True, False]))
        tensor([0.6931, 0.0000])
    """
    a, counted = _check("logaddexp", input, input_mask)
    b, also = _check("logaddexp", other, other_mask)
    a, b = _convert(a, dtype), _convert(b, dtype)
    return _C.logaddexp(_fill(a, counted, -_INF), _fill(b, also, -_INF))

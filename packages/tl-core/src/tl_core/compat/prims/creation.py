"""Creation of tensors, random numbers, and limits of element types in `prims`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.compat import prims_common as utils

__all__ = ["rows"]

_OPTIONS = "*, ScalarType dtype, Device device, bool requires_grad"


def rows() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The schemas of the operators, and their functions."""
    yield f"empty(SymInt[] shape, {_OPTIONS}) -> Tensor", _empty
    yield f"empty_strided(SymInt[] shape, SymInt[] strides, {_OPTIONS}) -> Tensor", _empty_strided
    yield f"empty_permuted(SymInt[] shape, int[] physical_layout, {_OPTIONS}) -> Tensor", _empty_permuted
    yield f"full(SymInt[] shape, Scalar fill_value, {_OPTIONS}) -> Tensor", _full
    yield f"full_like(Tensor a, Scalar fill_value, {_OPTIONS}) -> Tensor", _full_like
    yield (
        (
            "iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) "
            "-> Tensor"
        ),
        _iota,
    )
    yield "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", _scalar_tensor
    yield (
        (
            "normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool requires_grad, "
            "Generator? generator=None) -> Tensor"
        ),
        _normal,
    )
    yield (
        (
            "uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, "
            "Generator? generator=None) -> Tensor"
        ),
        _uniform,
    )
    yield "maximum_value(ScalarType dtype) -> Scalar", _maximum_value
    yield "minimum_value(ScalarType dtype) -> Scalar", _minimum_value
    yield "_make_token() -> Tensor", lambda: tl_core.empty(0)
    yield "_sink_tokens(Tensor[] tokens) -> ()", lambda tokens: None


def _empty(shape: Sequence[int], *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return tl_core.empty(shape, dtype=dtype, device=device, requires_grad=requires_grad)


def _empty_strided(
    shape: Sequence[int], strides: Sequence[int], *, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    return tl_core.empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def _empty_permuted(
    shape: Sequence[int], physical_layout: Sequence[int], *, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    return tl_core.empty_permuted(
        shape, tuple(physical_layout), dtype=dtype, device=device, requires_grad=requires_grad
    )


def _full(shape: Sequence[int], fill_value: Any, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return tl_core.full(shape, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)


def _full_like(a: Tensor, fill_value: Any, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return tl_core.full_like(a, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)


def _iota(length: int, *, start: int, step: int, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    if not utils.is_integer_dtype(dtype):
        raise RuntimeError("prims.iota only supports integer dtypes")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    return tl_core.arange(
        start, start + length * step, step, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return tl_core.scalar_tensor(
        s, dtype=utils.type_to_dtype(type(s)) if dtype is None else dtype, device=device
    )


def _normal(
    shape: Sequence[int],
    *,
    mean: Any,
    std: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    generator: Any = None,
) -> Tensor:
    result = tl_core.empty(shape, dtype=dtype, device=device)
    return result.normal_(mean, std, generator=generator).requires_grad_(requires_grad)


def _uniform(
    shape: Sequence[int],
    *,
    low: Any,
    high: Any,
    dtype: Any,
    device: Any,
    stride: Sequence[int],
    generator: Any = None,
) -> Tensor:
    result = tl_core.empty_strided(shape, stride, dtype=dtype, device=device)
    return result.uniform_(low, high, generator=generator)


def _maximum_value(dtype: Any) -> Any:
    if dtype == tl_core.bool:
        return True
    limits = tl_core.finfo(dtype) if dtype.is_floating_point or dtype.is_complex else tl_core.iinfo(dtype)
    return limits.max


def _minimum_value(dtype: Any) -> Any:
    if dtype == tl_core.bool:
        return False
    limits = tl_core.finfo(dtype) if dtype.is_floating_point or dtype.is_complex else tl_core.iinfo(dtype)
    return limits.min

"""Operators that compare, read and write elements of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor

from .operators import on_integers, on_numbers
from .tensor import implements, integers_of, is_quantized_tensor, made_of, quantizer_of
from .tensor_quantizer import PerTensor, Quantizer

__all__: list[str] = []

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@implements(*_COMPARISONS)
def compare(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Compares numbers."""
    return on_numbers(func, args, kwargs)


@implements("_local_scalar_dense")
def read(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A number of Python."""
    return on_numbers(func, args, kwargs)


def _integers_for(quantizer: Quantizer, value: Any, like: Tensor) -> Tensor:
    """The integers of a number, or of numbers in the shape of a tensor."""
    if is_quantized_tensor(value):
        value = value.dequantize()
    numbers = value.to(tl_core.float32) if isinstance(value, Tensor) else tl_core.tensor(float(value))
    if numbers.numel() == 1:
        numbers = numbers.reshape(())
    return quantizer.integers(numbers.expand(like.shape))


@implements("fill_", "zero_")
def fill(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Sets all elements to one number, or to 0."""
    x = args[0]
    value = kwargs.get("value", args[1] if len(args) > 1 else 0.0)
    integers_of(x).copy_(_integers_for(quantizer_of(x), value, integers_of(x)))
    return x


@implements("masked_fill_", "masked_fill")
def fill_masked(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Sets the elements under a mask to one number."""
    x, rest = args[0], {**dict(zip(("mask", "value"), args[1:], strict=False)), **kwargs}
    target = x if func.__name__.endswith("_") else x.clone()
    integers = integers_of(target)
    integers.copy_(_integers_for(quantizer_of(target), rest["value"], integers).where(rest["mask"], integers))
    return target


@implements("copy_")
def copy(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Quantizes numbers by the target's quantizer. A rule in C++ copies quantized tensors."""
    target, source = args[:2]
    if not target.is_quantized:
        raise RuntimeError(
            "copy_: a quantized tensor can't be copied to a plain one, please use dequantize: call dequantize() before"
        )
    integers_of(target).copy_(_integers_for(quantizer_of(target), source, target))
    return target


@implements("index_put_", "index_put")
def put(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Writes numbers at indices."""
    x, rest = args[0], {**dict(zip(("indices", "values", "accumulate"), args[1:], strict=False)), **kwargs}
    if rest.get("accumulate"):
        raise RuntimeError(f"{func.__name__}: quantized tensors aren't added up; call dequantize() before")
    target = x if func.__name__.endswith("_") else x.clone()
    _write_by_index(target, tuple(rest["indices"]), rest["values"])
    return target


def _write_by_index(x: Tensor, index: Any, value: Any) -> None:
    if not isinstance(quantizer_of(x), PerTensor):
        raise NotImplementedError("writes at indices need a tensor with one scale; call dequantize() before")
    if is_quantized_tensor(value):
        value = value.dequantize()
    numbers = value if isinstance(value, Tensor) else tl_core.tensor(float(value))
    integers = quantizer_of(x).integers(numbers.to(tl_core.float32))
    integers_of(x)[index] = integers


@implements("empty_like")
def empty(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Uninitialized memory with the quantizer of a tensor."""
    x, dtype = args[0], kwargs.pop("dtype", None)
    if dtype is not None and dtype is not x.dtype:
        raise RuntimeError(
            f"empty_like: dtype must be the type of the quantized tensor, {x.dtype}, but got {dtype}"
        )
    return made_of(on_integers(func, args, kwargs), quantizer_of(x))


@implements("resize_")
def resize(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Changes the sizes of a tensor with one scale."""
    x = args[0]
    if not isinstance(quantizer_of(x), PerTensor):
        raise NotImplementedError("resize_: a tensor with a scale a channel can't be resized")
    func(*args, **kwargs)
    return x

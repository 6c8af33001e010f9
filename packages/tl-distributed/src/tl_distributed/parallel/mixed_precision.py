"""Forward and backward passes in a shorter type than that of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module
from tl_nn.func import functional_call

__all__: list[str] = []


@dataclass
class _MixedPrecision:
    """In which types a `DistributedDataParallel` computes and reduces.

    Attributes:
        param_dtype: of parameters and inputs in the forward and backward pass; None leaves them.
        reduce_dtype: of gradients on the way; None: that of the parameters.
        buffer_dtype: of buffers; None leaves them.
    """

    param_dtype: tl_core.dtype | None = None
    reduce_dtype: tl_core.dtype | None = None
    buffer_dtype: tl_core.dtype | None = None


def cast(value: Any, dtype: tl_core.dtype | None) -> Any:
    """A value whose tensors of floating numbers have another type, in lists, tuples and dictionaries too."""
    if dtype is None:
        return value
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: cast(each, dtype) for key, each in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(cast(each, dtype) for each in value)
    return value


def call(module: Module, precision: _MixedPrecision, inputs: Any, kwargs: Any) -> Any:
    """Calls a module with parameters and inputs of `param_dtype`; gradients reach the parameters in their own type."""
    parameters = {name: cast(p, precision.param_dtype) for name, p in module.named_parameters()}
    return functional_call(
        module, parameters, cast(inputs, precision.param_dtype), cast(kwargs, precision.param_dtype)
    )

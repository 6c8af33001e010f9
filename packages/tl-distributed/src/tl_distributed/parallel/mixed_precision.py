"""Forward and backward passes in a shorter type than that of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core
from tl_nn import Module
from tl_nn.func import functional_call

from ..collectives.utils import _apply_to_tensors

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
    """A value whose floating-point tensors have another type, also in containers.

    Args:
        value: tensors, and containers of them and of other values.
        dtype: the type; None: the value itself is returned.
    """
    if dtype is None:
        return value
    return _apply_to_tensors(lambda t: t.to(dtype) if t.is_floating_point() else t, value)


def call(module: Module, precision: _MixedPrecision, inputs: Any, kwargs: Any) -> Any:
    """Calls a module with parameters and inputs of `param_dtype`; gradients reach the parameters in their own type."""
    parameters = {name: cast(p, precision.param_dtype) for name, p in module.named_parameters()}
    return functional_call(
        module, parameters, cast(inputs, precision.param_dtype), cast(kwargs, precision.param_dtype)
    )

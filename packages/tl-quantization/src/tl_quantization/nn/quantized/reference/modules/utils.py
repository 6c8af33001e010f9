"""How a float weight is quantized, as attributes and buffers of a layer."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from .....dtypes import (
    QScheme,
    bounds,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    quantized_dtype,
    quint8,
    storage_dtype,
)
from .....functions import quantize_per_channel, quantize_per_tensor

__all__ = ["ReferenceQuantizedModule"]

_ONE_SCALE = (per_tensor_affine, per_tensor_symmetric)
_BY_CHANNEL = (per_channel_affine, per_channel_affine_float_qparams, per_channel_symmetric)
_SCHEMES = (None, *_ONE_SCALE, *_BY_CHANNEL)


def default_weight_qparams() -> dict[str, Any]:
    """The parameters of a layer that gets none: one scale of 1."""
    return {"qscheme": per_tensor_affine, "dtype": quint8, "scale": 1.0, "zero_point": 0}


def set_weight_qparams(module: Any, prefix: str, qparams: dict[str, Any], device: Any = None) -> None:
    """Stores how a weight is quantized.

    Args:
        module: the layer.
        prefix: the weight's name: attributes are `weight_dtype`, buffers `weight_scale` and so on.
        qparams: `dtype`, `qscheme`, and by the scheme `scale`, `zero_point` and `axis`; `quant_min`, `quant_max` and
            `is_decomposed` may be absent.
        device: the device of the buffers.

    Raises:
        AssertionError: If the scheme isn't known.
    """
    scheme, dtype = qparams["qscheme"], qparams["dtype"]
    if scheme not in _SCHEMES:
        raise AssertionError(f"qscheme must be one of {', '.join(map(str, _SCHEMES))}, but got {scheme}")
    setattr(module, f"{prefix}_qscheme", scheme)
    setattr(module, f"{prefix}_dtype", dtype)
    if scheme is not None:
        scale, zero = qparams["scale"], qparams["zero_point"]
        kind = tl_core.float32 if scheme is per_channel_affine_float_qparams else tl_core.int32
        axis = qparams["axis"] if scheme in _BY_CHANNEL else 0
    else:
        scale, zero, axis, kind = 1.0, 0, 0, tl_core.int32
    zero_type = None if isinstance(zero, Tensor) else kind
    _register(module, f"{prefix}_scale", scale, tl_core.float32, device)
    _register(module, f"{prefix}_zero_point", zero, zero_type, device)
    _register(module, f"{prefix}_axis", axis, tl_core.int32, device)
    setattr(module, f"{prefix}_axis_int", int(axis))
    setattr(module, f"{prefix}_quant_min", qparams.get("quant_min"))
    setattr(module, f"{prefix}_quant_max", qparams.get("quant_max"))


def _register(module: Any, name: str, value: Any, dtype: Any, device: Any) -> None:
    tensor = value.detach().clone() if isinstance(value, Tensor) else tl_core.tensor(value)
    module.register_buffer(name, tensor.to(device=device, dtype=dtype or tensor.dtype))


def quantize_weight(module: Any, prefix: str, weight: Tensor) -> Tensor:
    """A weight as integers, or as float16, by the stored parameters.

    Args:
        module: the layer with the parameters.
        prefix: the weight's name.
        weight: the float weight.

    Raises:
        ValueError: If the type isn't known.
    """
    scheme: QScheme | None = getattr(module, f"{prefix}_qscheme")
    dtype = getattr(module, f"{prefix}_dtype")
    if dtype is tl_core.float16:
        return weight.to(tl_core.float16)
    if scheme is None:
        return weight
    scale, zero = getattr(module, f"{prefix}_scale"), getattr(module, f"{prefix}_zero_point")
    kind = quantized_dtype(dtype)
    if scheme in _ONE_SCALE:
        return quantize_per_tensor(weight.detach(), scale, zero, kind)
    return quantize_per_channel(weight.detach(), scale, zero, getattr(module, f"{prefix}_axis_int"), kind)


def rounded_weight(module: Any, prefix: str, weight: Tensor) -> Tensor:
    """A weight that is quantized and dequantized.

    Args:
        module: the layer with the parameters.
        prefix: the weight's name.
        weight: the float weight.
    """
    if getattr(module, "is_decomposed", False) and getattr(module, f"{prefix}_qscheme") is not None:
        return _rounded_by_plain_integers(module, prefix, weight)
    result = quantize_weight(module, prefix, weight)
    if result is weight:
        return weight
    return result.dequantize() if result.is_quantized else result.to(tl_core.float32)


def _rounded_by_plain_integers(module: Any, prefix: str, weight: Tensor) -> Tensor:
    """A weight that operators of `quantized_decomposed` quantize and dequantize, so that exported models have them."""
    from tl_core.operators import packets  # operators without a function load when a model runs

    scheme, dtype, scale, zero, axis, low, high = (
        getattr(module, f"{prefix}_{name}")
        for name in ("qscheme", "dtype", "scale", "zero_point", "axis_int", "quant_min", "quant_max")
    )
    kind, ops = storage_dtype(quantized_dtype(dtype)), packets.quantized_decomposed
    if low is None or high is None:
        low, high = bounds(kind)
    facts: tuple[Any, ...] = (scale, zero)
    names = ("quantize_per_tensor", "dequantize_per_tensor")
    if scheme not in _ONE_SCALE:
        facts, names = (scale, zero, axis), ("quantize_per_channel", "dequantize_per_channel")
    facts = (*facts, low, high, kind)
    integers = getattr(ops, names[0])(weight, *facts)
    rounded: Tensor = getattr(ops, names[1])(integers, *facts)
    return rounded


class ReferenceQuantizedModule(Module):
    """The base class of layers with one weight and its parameters.

    State dicts have `weight_qscheme` and `weight_dtype` beside the buffers.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import reference
        >>> isinstance(reference.Linear(2, 3), ReferenceQuantizedModule)
        True
    """

    _IS_REFERENCE = True
    weight: Tensor
    is_decomposed: bool

    def _init_weight_qparams(self, weight_qparams: dict[str, Any] | None, device: Any) -> None:
        qparams = default_weight_qparams() if weight_qparams is None else weight_qparams
        self.is_decomposed = qparams.get("is_decomposed", False)
        set_weight_qparams(self, "weight", qparams, device)

    def get_weight(self) -> Tensor:
        """The weight, quantized and dequantized."""
        return rounded_weight(self, "weight", self.weight)

    def get_quantized_weight(self) -> Any:
        """The weight as integers, or as float16."""
        return quantize_weight(self, "weight", self.weight)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("weight_qscheme", "weight_dtype"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        for name in ("weight_qscheme", "weight_dtype"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
        for name in ("weight_scale", "weight_zero_point", "weight_axis"):  # whose shapes depend on the scheme
            if prefix + name in state_dict:
                setattr(self, name, state_dict[prefix + name].detach().clone())
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)
        self.weight_axis_int = int(self.weight_axis)

    weight_axis: Tensor
    weight_axis_int: int

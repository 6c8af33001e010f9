"""What quantized layers share: scales from observers, weights, and how they are saved."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ....dtypes import quantized_dtype, storage_dtype
from ....functions import quantize_per_channel, quantize_per_tensor
from ....operators import quantized
from ....quantizer import PerTensor
from ....tensor import QuantizedTensor, made_of

__all__ = [
    "OutputScale",
    "Scaled",
    "WeightedQuantizedModule",
    "observed_qparams",
    "observed_weight",
    "quantized_weight",
    "requantize",
    "weight_observer",
]


def requantize(x: Any, like: Any, scale: Any, zero_point: Any) -> QuantizedTensor:
    """Numbers as a quantized tensor of another's type.

    Args:
        x (Tensor): The numbers.
        like (QuantizedTensor): Its type is taken; TypeError if it isn't quantized.
        scale, zero_point (number or Tensor of one): Of the result.
    """
    return quantized(x, PerTensor(float(scale), int(zero_point), numbers_of(like).dtype))


def numbers_of(x: Any) -> QuantizedTensor:
    """The tensor itself; TypeError if it isn't quantized."""
    if not isinstance(x, QuantizedTensor):
        got = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(
            f"a quantized layer takes quantized tensors, but got {got}; quantize_per_tensor makes one"
        )
    return x


def quantized_weight(weight: Tensor, observer: Any) -> QuantizedTensor:
    """A weight as integers, by the scales of an observer that has watched it."""
    scale, zero = observer.calculate_qparams()
    kind = quantized_dtype(observer.dtype)
    if observer.qscheme.name.startswith("per_channel"):
        return quantize_per_channel(weight.detach(), scale, zero, observer.ch_axis, kind)
    return quantize_per_tensor(weight.detach(), scale, zero, kind)


def weight_observer(mod: Any, weight: Tensor, qconfig: Any, precomputed: bool) -> Any:
    """What has watched a module's weight: what rounded it in training, or else an observer of the configuration.

    The weight is watched once more, as it may have changed since; `precomputed` takes what training has seen.

    Args:
        mod: the float module.
        weight: its weight.
        qconfig: the configuration.
        precomputed: whether an observer that has seen the weight is used as it is.
    """
    trained = getattr(mod, "weight_fake_quant", None)
    observer = qconfig.weight() if trained is None else trained
    if trained is None or not precomputed:
        observer(weight.detach())
    return observer


def observed_weight(mod: Any, weight: Tensor, precomputed: bool = False) -> QuantizedTensor:
    """A module's weight as integers, by its `weight_observer`.

    Args:
        mod: the float module.
        weight: its weight.
        precomputed: whether an observer that has seen the weight is used as it is.
    """
    observer = weight_observer(mod, weight, getattr(mod, "qconfig", None), precomputed)
    if observer.dtype is tl_core.float32:
        raise AssertionError("qconfig.weight must quantize, but its dtype is torch.float32")
    return quantized_weight(weight, observer)


def observed_qparams(mod: Any) -> tuple[float, int]:
    """The scale and the zero point of what a module returns, as its observer says; 1 and 0 without one."""
    observer = getattr(mod, "activation_post_process", None)
    if observer is None:
        return 1.0, 0
    scale, zero = observer.calculate_qparams()
    return float(scale), int(zero)


class Scaled:
    """The scale and the zero point of a layer's result, and where they stand in a state."""

    scale: Any
    zero_point: Any

    def _init_scale(self, scale: float, zero_point: int) -> None:
        self.register_buffer("scale", tl_core.tensor(scale))  # type: ignore[attr-defined]
        self.register_buffer("zero_point", tl_core.tensor(zero_point))  # type: ignore[attr-defined]

    def _again(self, x: Any, like: Any) -> QuantizedTensor:
        return requantize(x, like, self.scale, self.zero_point)


def popped(state_dict: Any, prefix: str, names: tuple[str, ...], missing: list[str]) -> list[Any] | None:
    """The values of entries, which leave the state; None where one isn't there, and those in `missing`."""
    keys = [prefix + name for name in names]
    absent = [key for key in keys if key not in state_dict]
    missing.extend(absent)
    return None if absent else [state_dict.pop(key) for key in keys]


class OutputScale(Module):
    """A layer whose result has the scale and the zero point that stand in its state."""

    scale: float
    zero_point: int

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = tl_core.tensor(self.scale)
        destination[prefix + "zero_point"] = tl_core.tensor(self.zero_point)

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
        taken = popped(state_dict, prefix, ("scale", "zero_point"), missing)
        if taken is not None:
            self.scale, self.zero_point = float(taken[0]), int(taken[1])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)


class WeightedQuantizedModule(OutputScale):
    """A layer with a weight of integers.

    Its state has `weight` and `bias`, `scale` and `zero_point`.
    """

    _weight: QuantizedTensor
    _bias: Tensor | None

    def weight(self) -> QuantizedTensor:
        """The weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """The bias, of floating numbers."""
        return self._bias

    def set_weight_bias(self, w: QuantizedTensor, b: Tensor | None) -> None:
        """Takes another weight and bias.

        Raises:
            TypeError: If the weight isn't quantized.
        """
        self._weight, self._bias = numbers_of(w), None if b is None else b.detach()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "weight"] = self._weight
        destination[prefix + "bias"] = self._bias
        super()._save_to_state_dict(destination, prefix, keep_vars)

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
        taken = popped(state_dict, prefix, ("weight", "bias"), missing)
        if taken is not None:
            self.set_weight_bias(*taken)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)


def empty_weight(shape: Any, kind: Any, device: Any = None) -> QuantizedTensor:
    """A weight of zeros, until `set_weight_bias` brings the right one."""
    return made_of(tl_core.zeros(shape, dtype=storage_dtype(kind), device=device), PerTensor(1.0, 0, kind))


def with_parts_of(kind: Any, other: Any) -> Any:
    """A module of another class that has the same parts and settings."""
    made = kind.__new__(kind)
    vars(made).update(vars(other))
    return made

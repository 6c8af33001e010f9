"""Utilities of quantized layers: scales from observers, weights, and their state."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ....dtypes import bounds, quantized_dtype, storage_dtype
from ....functions import quantize_per_channel, quantize_per_tensor
from ....operators import quantize_numbers
from ....tensor import integers_of, is_quantized_tensor, made_of
from ....tensor_quantizer import PerTensor

__all__ = [
    "OutputScale",
    "Scaled",
    "WeightedQuantizedModule",
    "observed_qparams",
    "observed_weight",
    "program",
    "quantized_weight",
    "requantize",
    "weight_observer",
]


def program(name: str, call: str) -> str:
    """The text of a layer's `forward` in TorchScript, which calls one operator of `quantized::`.

    Args:
        name: the name of the input.
        call: the call, without the namespace.

    Example:
        >>> print(program("x", "relu6(x)"))
        def forward(self, x: Tensor) -> Tensor:
            return quantized.relu6(x)
        <BLANKLINE>
    """
    return f"def forward(self, {name}: Tensor) -> Tensor:\n    return quantized.{call}\n"


def requantize(x: Any, like: Any, scale: Any, zero_point: Any) -> Tensor:
    """Numbers as a quantized tensor of another's type.

    Args:
        x (Tensor): The numbers.
        like (Tensor): A tensor of the result's type. It must be quantized.
        scale, zero_point (number or Tensor of one): Of the result.
    """
    return quantize_numbers(x, PerTensor(float(scale), int(zero_point), numbers_of(like).dtype))


def numbers_of(x: Any) -> Tensor:
    """Returns the tensor itself. Raises NotImplementedError if it isn't quantized, and TypeError if it is no tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"a quantized layer takes quantized tensors, but got {type(x).__name__}")
    if not x.is_quantized:
        raise NotImplementedError(
            f"Could not run a quantized layer with arguments from the 'CPU' backend: it takes quantized tensors, but "
            f"got {x.dtype}; quantize_per_tensor makes one, and a QuantStub in front of the layer does"
        )
    return x


def quantized_weight(weight: Tensor, observer: Any) -> Tensor:
    """A weight as integers, by the scales of an observer that has watched it."""
    scale, zero = observer.calculate_qparams()
    kind = quantized_dtype(observer.dtype)
    if observer.qscheme.name.startswith("per_channel"):
        result = quantize_per_channel(weight.detach(), scale, zero, observer.ch_axis, kind)
    else:
        result = quantize_per_tensor(weight.detach(), scale, zero, kind)
    low, high = (getattr(observer, name, None) for name in ("quant_min", "quant_max"))
    if low is not None and high is not None and (low, high) != bounds(kind):
        integers_of(result).clamp_(low, high)  # numbers may lie outside of an averaged range
    return result


def weight_observer(mod: Any, weight: Tensor, qconfig: Any, precomputed: bool) -> Any:
    """The observer of a module's weight: the fake quantizer of training, or else an observer of the configuration.

    The observer watches the weight once more, as it may have changed since, unless `precomputed`.

    Args:
        mod: the float module, with a `qconfig`.
        weight: the float weight of the module.
        qconfig: the configuration whose `weight` constructs an observer.
        precomputed: whether to use the scales of training, without another observation of the weight.
    """
    trained = getattr(mod, "weight_fake_quant", None)
    observer = qconfig.weight() if trained is None else trained
    if trained is None or not precomputed:
        observer(weight.detach())
    return observer


def observed_weight(mod: Any, weight: Tensor, precomputed: bool = False) -> Tensor:
    """A module's weight as integers, by its `weight_observer`.

    Args:
        mod: the float module, with a `qconfig`.
        weight: the float weight of the module.
        precomputed: whether to use the scales of training, without another observation of the weight.
    """
    observer = weight_observer(mod, weight, getattr(mod, "qconfig", None), precomputed)
    if observer.dtype is tl_core.float32:
        raise AssertionError("qconfig.weight must quantize, but its dtype is torch.float32")
    return quantized_weight(weight, observer)


def observed_qparams(mod: Any) -> tuple[float, int]:
    """The scale and the zero point of a module's result by its observer, or 1 and 0 without an observer."""
    observer = getattr(mod, "activation_post_process", None)
    if observer is None:
        return 1.0, 0
    scale, zero = observer.calculate_qparams()
    return float(scale), int(zero)


class Scaled:
    """The scale and the zero point of a layer's result, as buffers."""

    scale: Any
    zero_point: Any

    def _init_scale(self, scale: float, zero_point: int) -> None:
        self.register_buffer("scale", tl_core.tensor(scale))  # type: ignore[attr-defined]
        self.register_buffer("zero_point", tl_core.tensor(zero_point))  # type: ignore[attr-defined]

    def _again(self, x: Any, like: Any) -> Tensor:
        return requantize(x, like, self.scale, self.zero_point)


def pop_entries(state_dict: Any, prefix: str, names: tuple[str, ...], missing: list[str]) -> list[Any] | None:
    """Removes entries from a state and returns their values. If some are absent, adds them to `missing`."""
    keys = [prefix + name for name in names]
    absent = [key for key in keys if key not in state_dict]
    missing.extend(absent)
    return None if absent else [state_dict.pop(key) for key in keys]


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.numel() == 1 and not value.is_complex() and not is_quantized_tensor(value)
    return isinstance(value, (int, float))


class OutputScale(Module):
    """A layer whose state contains the scale and the zero point of its result."""

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
        entries = pop_entries(state_dict, prefix, ("scale", "zero_point"), missing)
        if entries is not None:
            if all(map(_is_number, entries)):
                self.scale, self.zero_point = float(entries[0]), int(entries[1])
            else:
                kinds = " and ".join(type(entry).__name__ for entry in entries)
                errors.append(f"{prefix}scale and {prefix}zero_point must be numbers, but got {kinds}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)


class WeightedQuantizedModule(OutputScale):
    """A layer with a weight of integers.

    Its state has `weight` and `bias`, `scale` and `zero_point`.
    """

    _weight: Tensor
    _bias: Tensor | None

    def weight(self) -> Tensor:
        """The weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """The bias, of floating numbers."""
        return self._bias

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Replaces weight and bias.

        Raises:
            TypeError: If the weight isn't quantized.
        """
        self._weight, self._bias = numbers_of(w), None if b is None else b.detach()

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self.weight(), self.bias()

    def _misfit(self, weight: Any, bias: Any) -> str | None:
        """Why a weight and a bias of a state do not fit the layer, or None."""
        shape = tuple(self.weight().shape)
        if not is_quantized_tensor(weight) or tuple(weight.shape) != shape:
            size = f" of shape {tuple(weight.shape)}" if isinstance(weight, Tensor) else ""
            return (
                f"weight must be a quantized tensor of shape {shape}, but got {type(weight).__name__}{size}"
            )
        if bias is not None and not (isinstance(bias, Tensor) and bias.is_floating_point()):
            return f"bias must be a tensor of floating numbers or None, but got {type(bias).__name__}"
        return None

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "weight"] = self.weight()
        destination[prefix + "bias"] = self.bias()
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
        entries = pop_entries(state_dict, prefix, ("weight", "bias"), missing)
        if entries is not None:
            reason = self._misfit(*entries)
            if reason is None:
                self.set_weight_bias(*entries)
            else:
                errors.append(f"{prefix}{reason}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)


def empty_weight(shape: Any, kind: Any, device: Any = None) -> Tensor:
    """A weight of zeros, until `set_weight_bias` replaces it."""
    return made_of(tl_core.zeros(shape, dtype=storage_dtype(kind), device=device), PerTensor(1.0, 0, kind))


def with_parts_of(kind: Any, other: Any) -> Any:
    """A module of the class `kind` with the parts and settings of another module."""
    module = kind.__new__(kind)
    vars(module).update(vars(other))
    return module

"""Linear layers with weights of integers."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import Module
from tl_nn.utils.fusion import fuse_linear_bn_weights

from ....dtypes import qint8
from ....packed.half import HalfLinear
from ....packed.linear import PackedLinear
from ....packed.states import LinearPackedParamsBase
from .utils import (
    OutputScale,
    empty_weight,
    numbers_of,
    observed_qparams,
    observed_weight,
    pop_entries,
)

__all__ = ["Linear", "LinearPackedParams", "float_parameters"]


class LinearPackedParams(Module):
    """The weight and the bias of a linear layer, as one entry of its state.

    Args:
        dtype (dtype): `qint8`, or float16 for weights that are only halved.
    """

    _version = 3  # of the state: entries `dtype` and `_packed_params`, as in PyTorch

    def __init__(self, dtype: Any = qint8) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype not in (qint8, tl_core.float16):
            raise RuntimeError(
                f"the weight of a quantized linear layer is of torch.qint8 or torch.float16, but got {dtype}"
            )
        empty = empty_weight((1, 1), qint8) if dtype is qint8 else tl_core.zeros(1, 1, dtype=tl_core.float16)
        self.set_weight_bias(empty, None)

    def set_weight_bias(self, weight: Any, bias: Tensor | None) -> None:
        """Replaces weight and bias."""
        if self.dtype is qint8:
            self._packed_params: Any = PackedLinear(numbers_of(weight), bias)
        else:
            self._packed_params = HalfLinear(weight, bias)

    def _weight_bias(self) -> tuple[Any, ...]:
        return self._packed_params.unpack()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        weight, bias = self._weight_bias()[:2]
        # Files have the halved weight as float32, as PyTorch's do.
        stored = weight if self.dtype is qint8 else weight.to(tl_core.float32)
        destination[prefix + "_packed_params"] = (stored, bias)

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
        if (local_metadata.get("version") or 1) < 3 and prefix + "weight" in state_dict:
            # before version 3, weight and bias were two entries, and before version 2 there was one type
            state_dict.setdefault(prefix + "dtype", qint8)
            state_dict[prefix + "_packed_params"] = (
                state_dict.pop(prefix + "weight"),
                state_dict.pop(prefix + "bias", None),
            )
        entries = pop_entries(state_dict, prefix, ("dtype", "_packed_params"), missing)
        if entries is None:
            return
        try:
            packed = LinearPackedParamsBase._of_state(entries[1])
        except RuntimeError as error:
            errors.append(f"{prefix}_packed_params: {error}")
            return
        self._packed_params = packed
        self.dtype = qint8 if isinstance(packed, PackedLinear) else tl_core.float16

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself."""
        return x

    def __repr__(self) -> str:
        return repr(self._weight_bias())


def float_parameters(mod: Any) -> tuple[Any, Tensor, Tensor | None]:
    """The layer, and its weight and bias with a batch normalization's factor folded into them."""
    layer = mod[0] if isinstance(mod, nn.Sequential) else mod
    bn = getattr(mod, "bn", None)
    if bn is None:
        return layer, layer.weight, layer.bias
    fused = fuse_linear_bn_weights(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return layer, *fused


class Linear(OutputScale):
    """`x @ weight.T + bias` of quantized tensors: a weight of integers, a bias of floating numbers.

    Args:
        in_features, out_features (int): The sizes.
        bias_ (bool): Whether there is a bias.
        dtype (quantized dtype): `qint8`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> layer = Linear(2, 1)
        >>> w = tq.quantize_per_tensor(tl_core.tensor([[1.0, 2.0]]), 0.1, 0, tq.qint8)
        >>> layer.set_weight_bias(w, tl_core.tensor([0.5]))
        >>> layer(tq.quantize_per_tensor(tl_core.tensor([[1.0, 1.0]]), 0.1, 0, tq.quint8)).dequantize()
        tensor([[4.]])
    """

    _version = 3

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
        for name in ("weight", "bias"):  # of version 1, which had no packed parameters
            if prefix + name in state_dict:
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0
        self._packed_params = LinearPackedParams(dtype)
        if dtype is qint8:
            bias = tl_core.zeros(out_features) if bias_ else None
            self.set_weight_bias(empty_weight((out_features, in_features), qint8), bias)

    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    return quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)\n"
    )

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"  # not the numbers of the weight

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def forward(self, x: Any) -> Any:
        """The layer's result, with its scale and zero point."""
        return self._packed_params._packed_params.of_bytes(numbers_of(x), self.scale, self.zero_point)

    def _weight_bias(self) -> tuple[Any, ...]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The weight."""
        return self._packed_params._packed_params.weight()

    def bias(self) -> Tensor | None:
        """The bias."""
        return self._packed_params._packed_params.bias

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Replaces weight and bias. Raises TypeError if the weight isn't quantized."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear`, alone or fused, that has been observed or trained with rounding."""
        layer, weight, bias = float_parameters(mod)
        module = cls(layer.in_features, layer.out_features)
        module.set_weight_bias(observed_weight(mod, weight, use_precomputed_fake_quant), bias)
        module.scale, module.zero_point = observed_qparams(mod)
        return module

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer for one that keeps a float weight and how to quantize it.

        Args:
            ref_qlinear (Module): Has `get_quantized_weight()`, `bias`, `in_features` and `out_features`.
            output_scale, output_zero_point (float, int): Of the result.
        """
        module = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        module.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        module.scale, module.zero_point = float(output_scale), int(output_zero_point)
        return module

"""Linear layers that quantize their input at each call."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .....dtypes import qint8, quint8
from .....functions import quantize_per_tensor_dynamic
from .....qconfig import default_dynamic_qconfig
from ...modules import linear as static
from ...modules.utils import observed_weight, quantized_weight

__all__ = ["Linear", "round_dynamically", "weight_for"]


def round_dynamically(x: Tensor, reduce_range: bool = True) -> Tensor:
    """Rounds numbers to `quint8` with a dynamic scale. As in PyTorch, `reduce_range` leaves one bit unused."""
    return quantize_per_tensor_dynamic(x, quint8, reduce_range).dequantize()


def weight_for(mod: Any, weight: Tensor, precomputed: bool = False) -> tuple[Any, Any]:
    """A float module's weight in the type of its configuration, integers or float16, and this type.

    Args:
        mod: the float module, with a `qconfig`.
        weight: the float weight of the module.
        precomputed: whether to use the scales of training, without another observation of the weight.

    Raises:
        RuntimeError: If the configuration has another type.
    """
    if getattr(mod, "weight_fake_quant", None) is not None:
        return observed_weight(mod, weight, precomputed), qint8
    observer = (getattr(mod, "qconfig", None) or default_dynamic_qconfig).weight()
    if observer.dtype is tl_core.float16:
        return weight.detach().to(tl_core.float16), tl_core.float16
    if observer.dtype is not qint8:
        raise RuntimeError(
            f"a dynamic layer's weight must be torch.qint8 or torch.float16, but got {observer.dtype}"
        )
    observer(weight.detach())
    return quantized_weight(weight, observer), qint8


class Linear(static.Linear):
    """`x @ weight.T + bias` of floating numbers: the weight is of integers, `x` is rounded to integers at each call.

    Args:
        in_features, out_features (int): The sizes.
        bias_ (bool): Whether there is a bias.
        dtype (dtype): `qint8`, or float16, which leaves `x` unchanged.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = Linear.from_float(tl_nn.Linear(3, 2))
        >>> layer(tl_core.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    _version = 4
    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    return quantized.linear_dynamic(x, self._packed_params._packed_params, True)\n"
    )

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8) -> None:
        super().__init__(in_features, out_features, bias_, dtype)
        self.version: int | None = 4

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        kind = self._packed_params.dtype
        scheme = f", qscheme={self.weight().qscheme()}" if kind is qint8 else ""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={kind}{scheme}"

    def forward(self, x: Tensor) -> Tensor:
        """The layer's result, of floating numbers."""
        packed = self._packed_params._packed_params
        if self.version is not None and self.version >= 4:
            return packed.of_floats(x)
        return packed.of_floats(x, reduce_range=False)  # states of before used all 8 bits

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Takes over the version of the state, by which inputs are rounded."""
        if self._version == Linear._version:  # sparse layers count versions of their own
            self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear`, alone or fused. The default `qconfig` is `default_dynamic_qconfig`."""
        layer, weight, bias = static.float_parameters(mod)
        packed, kind = weight_for(mod, weight, use_precomputed_fake_quant)
        module = cls(layer.in_features, layer.out_features, dtype=kind)
        module.set_weight_bias(packed, bias)
        return module

    @classmethod
    def from_reference(cls, ref_qlinear: Any) -> Any:  # type: ignore[override]
        """The layer for one that keeps a float weight and how to quantize it (`get_quantized_weight()`)."""
        weight = ref_qlinear.get_quantized_weight()
        module = cls(ref_qlinear.in_features, ref_qlinear.out_features, dtype=weight.dtype)
        module.set_weight_bias(weight, ref_qlinear.bias)
        return module

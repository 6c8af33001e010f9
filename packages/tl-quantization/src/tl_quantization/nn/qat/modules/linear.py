"""Linear layers."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from ...intrinsic import LinearReLU
from .rounding import check_float, needed_qconfig, share_parameters

__all__ = ["Linear"]


class Linear(nn.Linear):
    """`tl_nn.Linear` with a weight that is rounded in training.

    Args:
        in_features, out_features, bias, device, dtype: As of `tl_nn.Linear`.
        qconfig (QConfig): Its `weight` constructs the module that rounds.

    Raises:
        AssertionError: If there is no configuration.

    Example:
        >>> import tl_core
        >>> from tl_quantization.qconfig import default_qat_qconfig
        >>> Linear(3, 2, qconfig=default_qat_qconfig)(tl_core.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.qconfig = needed_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear`, or a `LinearReLU`, that has a `qconfig`. Both share their parameters."""
        linear = mod[0] if isinstance(mod, LinearReLU) else mod
        qconfig = needed_qconfig(getattr(mod, "qconfig", None) or getattr(linear, "qconfig", None))
        check_float(cls, mod)
        module = cls(linear.in_features, linear.out_features, linear.bias is not None, qconfig=qconfig)
        return share_parameters(module, linear)

    def to_float(self) -> nn.Linear:
        """A `tl_nn.Linear` with the parameters as they are."""
        layer = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        return share_parameters(layer, self)

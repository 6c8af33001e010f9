"""Linear layers with a ReLU."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from ....qat.modules.linear import Linear
from ...modules.fused import LinearReLU as _Float

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """A `Linear` whose weight is rounded in training, and a ReLU, as in `tl_quantization.nn.qat.Linear`.

    Args:
        in_features: the features of the input.
        out_features: the features of the output.
        bias: whether there is a bias.
        qconfig: how the weight is rounded.
        device: where the parameters are made.
        dtype: the type of the weight.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qat.LinearReLU(3, 8, qconfig=tq.get_default_qat_qconfig("x86"))(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    _FLOAT_MODULE = _Float

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, with a ReLU."""
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """The float layer with the parameters as they are, and a ReLU."""
        return _Float(super().to_float(), nn.ReLU())

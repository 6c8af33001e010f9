"""Linear layers with a batch normalization."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F
from tl_nn.utils.fusion import fuse_linear_bn_weights

from ....qat.modules.rounding import check_float, needed_qconfig, share_parameters
from ...modules.fused import LinearBn1d as _Float
from .folding import Folded

__all__ = ["LinearBn1d"]


class LinearBn1d(Folded, nn.Linear):
    """A `Linear` and a `BatchNorm1d` whose weight is rounded in training with the normalization's factor in it.

    Args:
        in_features, out_features, bias: As of `tl_nn.Linear`.
        eps, momentum (float): As of the normalization.
        freeze_bn (bool): Whether the running statistics stay as they are.
        qconfig (QConfig): Its `weight` constructs the module that rounds.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qat.LinearBn1d(3, 8, qconfig=tq.get_default_qat_qconfig("x86"))(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias)
        needed_qconfig(qconfig)
        self._begin(nn.BatchNorm1d(out_features, eps, momentum), qconfig, freeze_bn, None)

    _FLOAT_MODULE = _Float

    def _apply_weight(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.linear(input, weight)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a fused float one that has a `qconfig`. Both share their parameters."""
        check_float(cls, mod)
        linear, bn = mod[0], mod[1]
        bias = linear.bias is not None
        module = cls(linear.in_features, linear.out_features, bias, bn.eps, bn.momentum, False, mod.qconfig)
        module.bn = bn
        return share_parameters(module, linear)

    def to_float(self) -> nn.Linear:
        """A linear layer with the normalization's factor in its weight."""
        linear = nn.Linear(self.in_features, self.out_features)
        bn = self.bn
        linear.weight, linear.bias = fuse_linear_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        return linear.train(self.training)

"""Layers followed by a batch normalization, whose factor is put into the weight before that is rounded.

The weight is scaled by the running statistics, so that it is rounded as after training. The result is scaled
back and normalized with the batch's statistics: Krishnamoorthi, Quantizing Deep Convolutional Networks, 2018.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

__all__ = ["Folded", "along_channels", "freeze_bn_stats", "update_bn_stats"]


def along_channels(values: Tensor, dims: int) -> Tensor:
    """Numbers of channels in the second of so many dimensions."""
    return values.reshape([1, -1, *[1] * (dims - 2)])


class Folded:
    """The base of the layers, before the float class in the order of bases."""

    weight: Any
    bias: Any
    bn: Any
    weight_fake_quant: Any
    freeze_bn: bool
    # Whether no step divides by the normalization's factor, under PyTorch's name
    _enable_slow_path_for_better_numerical_stability = False

    def _begin(self, bn: Any, qconfig: Any, freeze_bn: bool, kwargs: Any) -> None:
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn
        self.bn = bn
        self.weight_fake_quant = qconfig.weight(factory_kwargs=kwargs)
        if freeze_bn:
            self.freeze_bn_stats()

    def _apply_weight(self, input: Tensor, weight: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, normalized."""
        if self._enable_slow_path_for_better_numerical_stability:
            return self._forward_undivided(input)
        factor = self.bn.weight / tl_core.sqrt(self.bn.running_var + self.bn.eps)
        rows = factor.reshape([-1, *[1] * (self.weight.dim() - 1)])
        y = self._apply_weight(input, self.weight_fake_quant(self.weight * rows))
        y = y / along_channels(factor, y.dim())
        return self.bn(y if self.bias is None else y + along_channels(self.bias, y.dim()))

    def _forward_undivided(self, input: Tensor) -> Tensor:
        """The same without a division by the normalization's factor, which may be 0: batches need two products."""
        bn, dims = self.bn, self.weight.dim()
        deviation = tl_core.sqrt(bn.running_var + bn.eps)
        rows = (bn.weight / deviation).reshape([-1, *[1] * (dims - 1)])
        y = self._apply_weight(input, self.weight_fake_quant(self.weight * rows))
        mean, batch_deviation = bn.running_mean, deviation
        if bn.training:
            plain = self._apply_weight(input, self.weight)
            plain = plain if self.bias is None else plain + along_channels(self.bias, y.dim())
            dims_of_batch = [0, *range(2, y.dim())]
            mean = plain.mean(dims_of_batch)
            batch_deviation = tl_core.sqrt(plain.var(dims_of_batch, correction=0) + bn.eps)
            bn(plain)  # follows the batch
        shift = mean if self.bias is None else mean - self.bias
        y = y * along_channels(deviation / batch_deviation, y.dim())
        return y + along_channels(bn.bias - shift * bn.weight / batch_deviation, y.dim())

    def reset_bn_parameters(self) -> None:
        """Resets the normalization."""
        self.bn.reset_parameters()

    def update_bn_stats(self) -> Any:
        """The normalization uses the batch's statistics and follows them."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        """The normalization uses its running statistics."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Any:
        """Switches training, without a change of frozen statistics."""
        super().train(mode)  # type: ignore[misc]
        if mode and self.freeze_bn:
            self.bn.training = False
        return self


def update_bn_stats(mod: Any) -> None:
    """The normalization of a folded layer follows its batches: `model.apply(update_bn_stats)`.

    Example:
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> layer = qat.ConvBn1d(3, 8, 3, qconfig=tq.get_default_qat_qconfig("x86"))
        >>> layer.apply(qat.update_bn_stats).freeze_bn
        False
    """
    if isinstance(mod, Folded):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """The normalization of a folded layer stays as it is: `model.apply(freeze_bn_stats)`.

    Example:
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> layer = qat.ConvBn1d(3, 8, 3, qconfig=tq.get_default_qat_qconfig("x86"))
        >>> layer.apply(qat.freeze_bn_stats).freeze_bn
        True
    """
    if isinstance(mod, Folded):
        mod.freeze_bn_stats()

"""Convolutions."""

from __future__ import annotations

from functools import partial
from typing import Any

import tl_nn as nn
from tl_core import Tensor

from .rounding import check_float, needed_qconfig, share_parameters

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _Rounding:
    """The base of the convolutions, before the float class in the order of bases."""

    _FLOAT_MODULE: Any
    weight: Any
    bias: Any
    weight_fake_quant: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device=device, dtype=dtype,
        )  # type: ignore[call-arg]  # fmt: skip
        self.qconfig = needed_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    def forward(self, input: Tensor) -> Tensor:
        """The convolution with the rounded weight."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, or one followed by a ReLU, that has a `qconfig`. Both share their parameters."""
        check_float(cls, mod)
        conv = mod[0] if isinstance(mod, nn.Sequential) else mod
        construct: Any = partial(cls, *settings_of(conv))
        return share_parameters(construct(qconfig=mod.qconfig), conv)

    def to_float(self) -> Any:
        """The float layer with the parameters as they are."""
        kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[self.weight.dim() - 2]
        return share_parameters(kind(*settings_of(self)), self)


def settings_of(conv: Any) -> tuple[Any, ...]:
    """The constructor's arguments for a convolution of this shape, in order."""
    return (
        conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.dilation,
        conv.groups, conv.bias is not None, conv.padding_mode,
    )  # fmt: skip


class Conv1d(_Rounding, nn.Conv1d):
    """`tl_nn.Conv1d` with a weight that is rounded in training by `qconfig.weight`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.Conv1d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _FLOAT_MODULE: Any = nn.Conv1d


class Conv2d(_Rounding, nn.Conv2d):
    """`tl_nn.Conv2d` with a weight that is rounded in training by `qconfig.weight`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.Conv2d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5)).shape
        torch.Size([2, 8, 3, 3])
    """

    _FLOAT_MODULE: Any = nn.Conv2d


class Conv3d(_Rounding, nn.Conv3d):
    """`tl_nn.Conv3d` with a weight that is rounded in training by `qconfig.weight`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.Conv3d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _FLOAT_MODULE: Any = nn.Conv3d

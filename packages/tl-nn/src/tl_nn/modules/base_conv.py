"""The base class of the convolutions: sizes, parameters, their initialisation."""

from __future__ import annotations

from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import _reverse_repeat_tuple

__all__: list[str] = []


_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of all convolutions: sizes, parameters, their initialisation."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...] | str
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_of_pad(padding, dilation, kernel_size)
        ends = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(tl_core.empty((*ends, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl_core.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        none = (0,) * len(self.kernel_size)
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ]
        if self.padding != none:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.dilation):
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != none:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "padding_mode" not in self.__dict__:
            self.padding_mode = "zeros"


def _check(
    in_channels: int, out_channels: int, stride: Any, padding: Any, groups: int, padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError(f"groups must be a positive integer, but got {groups}")
    if in_channels % groups != 0:
        raise ValueError(f"in_channels must be divisible by groups, but got {in_channels} and {groups}")
    if out_channels % groups != 0:
        raise ValueError(f"out_channels must be divisible by groups, but got {out_channels} and {groups}")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same' and 'valid'")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError(
                f"padding='same' is not supported for strided convolutions, but got stride={stride}"
            )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {', '.join(_PADDING_MODES)}, but got padding_mode={padding_mode!r}"
        )


def _padding_of_pad(padding: Any, dilation: Any, kernel_size: Any) -> list[int]:
    """The padding as `pad` takes it: the last dimension first, two numbers for each."""
    if not isinstance(padding, str):
        return list(_reverse_repeat_tuple(padding, 2))
    sides = [0] * (2 * len(kernel_size))
    if padding == "same":
        for axis, (step, size) in enumerate(zip(reversed(dilation), reversed(kernel_size), strict=True)):
            total = step * (size - 1)
            sides[2 * axis : 2 * axis + 2] = [total // 2, total - total // 2]
    return sides

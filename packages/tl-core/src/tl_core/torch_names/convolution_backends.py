"""`torch._C._ConvBackend`: the kinds of convolution that PyTorch tells apart, and which of them a call is."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tl_core._C import Tensor

__all__ = ["_ConvBackend", "_select_conv_backend"]


class _ConvBackend(enum.Enum):
    """A way to compute a convolution. tl has its own kernels for all: those of libraries are never chosen."""

    CudaDepthwise2d = enum.auto()
    CudaDepthwise3d = enum.auto()
    Cudnn = enum.auto()
    CudnnTranspose = enum.auto()
    Empty = enum.auto()
    Miopen = enum.auto()
    MiopenDepthwise = enum.auto()
    MiopenTranspose = enum.auto()
    Mkldnn = enum.auto()
    MkldnnTranspose = enum.auto()
    MkldnnEmpty = enum.auto()
    NnpackSpatial = enum.auto()
    Overrideable = enum.auto()
    Slow2d = enum.auto()
    Slow3d = enum.auto()
    SlowDilated2d = enum.auto()
    SlowDilated3d = enum.auto()
    SlowTranspose2d = enum.auto()
    SlowTranspose3d = enum.auto()
    Winograd3x3Depthwise = enum.auto()
    Xnnpack2d = enum.auto()
    Mps = enum.auto()
    MpsTranspose = enum.auto()


def _select_conv_backend(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Any,
    groups: int,
    bias_sizes: Sequence[int] | None = None,
) -> _ConvBackend:
    """The kind of a convolution that no library computes, by its geometry; one dimension is called two.

    Example:
        >>> import tl_core as tl
        >>> x, w = tl.ones(1, 2, 5), tl.ones(3, 2, 2)
        >>> _select_conv_backend(x, w, None, (1,), (0,), (2,), False, (0,), 1).name
        'SlowDilated2d'
    """
    if input.shape[0] == 0 or input.shape[1] == 0:
        return _ConvBackend.Empty
    dilated = any(d != 1 for d in dilation)
    kind = "Transpose" if transposed else "Dilated" if dilated else ""
    return _ConvBackend[f"Slow{kind}{max(2, input.dim() - 2)}d"]

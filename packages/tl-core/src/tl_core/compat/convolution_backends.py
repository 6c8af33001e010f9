"""`torch._C._ConvBackend`: the kinds of convolution that PyTorch tells apart, and which of them a call is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core._C import Tensor
from tl_core.base.native_enum import NativeEnum

__all__ = ["_ConvBackend", "_select_conv_backend"]


class _ConvBackend(NativeEnum):
    """A way to compute a convolution. tl has its own kernels for all: those of libraries are never chosen."""

    CudaDepthwise2d = 0
    CudaDepthwise3d = 1
    Cudnn = 2
    CudnnTranspose = 3
    Empty = 4
    Miopen = 5
    MiopenDepthwise = 6
    MiopenTranspose = 7
    Mkldnn = 8
    MkldnnTranspose = 9
    MkldnnEmpty = 10
    NnpackSpatial = 11
    Overrideable = 12
    Slow2d = 13
    Slow3d = 14
    SlowDilated2d = 15
    SlowDilated3d = 16
    SlowTranspose2d = 17
    SlowTranspose3d = 18
    Winograd3x3Depthwise = 19
    Xnnpack2d = 20
    Mps = 21
    MpsTranspose = 22


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

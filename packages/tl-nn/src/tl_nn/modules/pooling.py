"""Pooling layers."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _Pool(Module):
    """Base class of all pooling layers: the function of `functional` they call, looked up when called."""

    _function: str

    def _pool(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(F, self._function)(*args, **kwargs)


class _MaxPoolNd(_Pool):
    """The largest element of each window."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window over inputs of shape (N, C, L) or (C, L).

    Args:
        kernel_size, stride, padding, dilation (int or tuple): Extent of the window, distance of its positions (by
            default its extent), elements added on both sides, which are never the largest, and distance of the
            elements it sees.
        return_indices (bool): Whether the indices of the largest elements are returned too, for `MaxUnpool1d`.
        ceil_mode (bool): Whether windows may reach over the end of the input.

    Raises:
        RuntimeError: If the padding is more than half of the window, or the output would be empty.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window over inputs of shape (N, C, H, W) or (C, H, W). See `MaxPool1d`.

    Args:
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool2d(2)(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[5., 7.]]])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window over inputs of shape (N, C, D, H, W) or (C, D, H, W). See `MaxPool1d`.

    Args:
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool3d(3, stride=2, padding=1)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 4, 4, 3])
    """

    _function = "max_pool3d"


class _MaxUnpoolNd(_Pool):
    """Puts the largest elements back to their indices."""

    _dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(kernel_size if stride is None else stride)
        self.padding = each(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The elements of `input` at `indices`, which `MaxPool` gave, and zeros elsewhere."""
        return self._pool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool1d` back to their positions, among zeros.

    Args:
        kernel_size, stride, padding (int or tuple): See the pooling.

    Raises:
        ValueError: If `output_size` can't have been the size of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> pool = tl_nn.MaxPool1d(2, return_indices=True)
        >>> tl_nn.MaxUnpool1d(2)(*pool(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]])))
        tensor([[0., 3., 2., 0.]])
    """

    _dims = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool2d` back to their positions, among zeros. See `MaxUnpool1d`.

    Args:
        kernel_size: the extent of the windows of the pooling.
        stride: the distance of the windows. None selects the window's size.
        padding: the padding of the pooling.

    Example:
        >>> import tl_core, tl_nn
        >>> pool, unpool = tl_nn.MaxPool2d(2, return_indices=True), tl_nn.MaxUnpool2d(2)
        >>> unpool(*pool(tl_core.tensor([[[1.0, 9.0], [2.0, 3.0]]])))
        tensor([[[0., 9.],
                 [0., 0.]]])
    """

    _dims = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool3d` back to their positions, among zeros. See `MaxUnpool1d`.

    Args:
        kernel_size: the extent of the windows of the pooling.
        stride: the distance of the windows. None selects the window's size.
        padding: the padding of the pooling.

    Example:
        >>> import tl_core, tl_nn
        >>> pool, unpool = tl_nn.MaxPool3d(2, return_indices=True), tl_nn.MaxUnpool3d(2)
        >>> unpool(*pool(tl_core.zeros(1, 2, 4, 4, 4))).shape
        torch.Size([1, 2, 4, 4, 4])
    """

    _dims = 3
    _function = "max_unpool3d"


class _AvgPoolNd(_Pool):
    """The mean of each window."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
    ]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window over inputs of shape (N, C, L) or (C, L).

    Args:
        kernel_size, stride, padding (int or tuple): Extent of the window, distance of its positions (by default
            its extent), and zeros added on both sides.
        ceil_mode (bool): Whether windows may reach over the end of the input.
        count_include_pad (bool): Whether the added zeros count in the mean.

    Raises:
        RuntimeError: If the padding is more than half of the window, or the output would be empty.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = _ntuple(1)
        self.kernel_size = single(kernel_size)
        self.stride = single(kernel_size if stride is None else stride)
        self.padding = single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class _DividedAvgPoolNd(_AvgPoolNd):
    """The mean of each window, or its sum divided by another number."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_DividedAvgPoolNd):
    """The mean of each window over inputs of shape (N, C, H, W) or (C, H, W). See `AvgPool1d`.

    `divisor_override` divides the sum of a window instead of its size.

    Args:
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end of the input.
        count_include_pad: whether the added zeros count in the mean.
        divisor_override: the divisor of a window's sum instead of its size, not 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool2d(2)(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[2.5000, 4.5000]]])
    """

    _function = "avg_pool2d"


class AvgPool3d(_DividedAvgPoolNd):
    """The mean of each window over inputs of shape (N, C, D, H, W) or (C, D, H, W). See `AvgPool2d`.

    Args:
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end of the input.
        count_include_pad: whether the added zeros count in the mean.
        divisor_override: the divisor of a window's sum instead of its size, not 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool3d(2, stride=1)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 7, 6, 5])
    """

    _function = "avg_pool3d"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding": 0, "ceil_mode": False, "count_include_pad": True, **state})


class _FractionalMaxPoolNd(_Pool):
    """The largest element of windows at random positions."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _dims: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each, name = _ntuple(self._dims), type(self).__name__
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of windows at random positions, over (N, C, H, W) or (C, H, W) (Graham, 2014).

    Args:
        kernel_size (int or tuple): Extent of the window.
        output_size (int or tuple, optional): The spatial size of the output.
        output_ratio (float or tuple, optional): The same as a share of the input's, between 0 and 1; one of the
            two is given.
        return_indices (bool): Whether the indices of the largest elements are returned too.

    Raises:
        ValueError: If not one of size and ratio is given, or the ratio is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FractionalMaxPool2d(3, output_size=(13, 12))(tl_core.zeros(2, 4, 50, 32)).shape
        torch.Size([2, 4, 13, 12])
    """

    _dims = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """`FractionalMaxPool2d` for inputs of shape (N, C, T, H, W) or (C, T, H, W).

    Args:
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FractionalMaxPool3d(2, output_ratio=0.5)(tl_core.zeros(1, 4, 8, 8, 8)).shape
        torch.Size([1, 4, 4, 4, 4])
    """

    _dims = 3
    _function = "fractional_max_pool3d"


class _LPPoolNd(_Pool):
    """The norm of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of each window, `sum(x ** p) ** (1 / p)`, over inputs of shape (N, C, L) or (C, L).

    Args:
        norm_type (float): The exponent p.
        kernel_size, stride (int or tuple): Extent of the window, and distance of its positions (by default its
            extent).
        ceil_mode (bool): Whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool1d(2, 2)(tl_core.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The norm of each window over inputs of shape (N, C, H, W) or (C, H, W). See `LPPool1d`.

    Args:
        norm_type: the exponent p, not 0.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool2d(2, 2)(tl_core.tensor([[[3.0, 0.0], [0.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The norm of each window over inputs of shape (N, C, D, H, W) or (C, D, H, W). See `LPPool1d`.

    Args:
        norm_type: the exponent p, not 0.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool3d(1, 2)(tl_core.ones(1, 2, 2, 2))
        tensor([[[[8.]]]])
    """

    _function = "lp_pool3d"


class _AdaptivePoolNd(_Pool):
    """Pooling whose windows divide the input into a given number of parts."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    """The mean of each part."""

    def forward(self, input: Tensor) -> Tensor:
        """The means, of the spatial size `output_size`."""
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of as many parts as the output is to have, over inputs of shape (N, C, L) or (C, L).

    Args:
        output_size (int or tuple): The spatial size of the output. None keeps the input's in a dimension.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """`AdaptiveAvgPool1d` for inputs of shape (N, C, H, W) or (C, H, W).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool2d(1)(tl_core.arange(8.0).view(1, 2, 2, 2)).flatten()
        tensor([1.5000, 5.5000])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """`AdaptiveAvgPool1d` for inputs of shape (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool3d((2, None, 3))(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 2, 7, 3])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    """The largest element of each part."""

    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of as many parts as the output is to have, over shape (N, C, L) or (C, L).

    Args:
        output_size (int or tuple): The spatial size of the output. None keeps the input's in a dimension.
        return_indices (bool): Whether the indices of the largest elements are returned too.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """`AdaptiveMaxPool1d` for inputs of shape (N, C, H, W) or (C, H, W).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool2d((1, 2))(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[5., 7.]]])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """`AdaptiveMaxPool1d` for inputs of shape (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool3d(2)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 2, 2, 2])
    """

    _function = "adaptive_max_pool3d"

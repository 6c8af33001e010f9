"""Activation functions as layers."""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .multihead_attention import MultiheadAttention as MultiheadAttention  # its documented path is here

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _MaybeInPlace(Module):
    """An activation without other settings than whether it changes its input.

    Args:
        inplace (bool): Whether the input itself is changed.
    """

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_MaybeInPlace):
    """`max(x, 0)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReLU()(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.relu(input, self.inplace)


class SiLU(_MaybeInPlace):
    """`x * sigmoid(x)`, also called swish.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SiLU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.silu(input, self.inplace)


class Mish(_MaybeInPlace):
    """`x * tanh(softplus(x))`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Mish()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.mish(input, self.inplace)


class SELU(_MaybeInPlace):
    """A scaled exponential unit that keeps zero mean and unit variance. See `tl_nn.functional.selu`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SELU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.selu(input, self.inplace)


class Hardsigmoid(_MaybeInPlace):
    """`min(max(x + 3, 0), 6) / 6`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardsigmoid()(tl_core.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_MaybeInPlace):
    """`x * min(max(x + 3, 0), 6) / 6`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardswish()(tl_core.tensor([-4.0, 1.0, 4.0]))
        tensor([-0.0000, 0.6667, 4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardswish(input, self.inplace)


class Hardtanh(Module):
    """`min(max(x, min_val), max_val)`.

    Args:
        min_val, max_val (float): The bounds.
        inplace (bool): Whether the input itself is changed.
        min_value, max_value (float, optional): Older names of the bounds.

    Raises:
        AssertionError: If `max_val` doesn't exceed `min_val`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardtanh(-2, 2)(tl_core.tensor([-3.0, 1.0]))
        tensor([-2.,  1.])
    """

    __constants__ = ["min_val", "max_val", "inplace"]
    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.min_val = _resolve_renamed("min_value", min_value, "min_val", min_val)
        self.max_val = _resolve_renamed("max_value", max_value, "max_val", max_val)
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


def _resolve_renamed(old: str, old_value: float | None, new: str, value: float) -> float:
    if old_value is None:
        return value
    warnings.warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=3
    )
    return old_value


class ReLU6(Hardtanh):
    """`min(max(x, 0), 6)`.

    Args:
        inplace (bool): Whether the input itself is changed.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReLU6()(tl_core.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """`x` where it exceeds a threshold, else a fixed value.

    Args:
        threshold (float): The threshold.
        value (float): The replacement of elements up to the threshold.
        inplace (bool): Whether the input itself is changed.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Threshold(0.5, 20)(tl_core.tensor([0.1, 1.0]))
        tensor([20.,  1.])
    """

    __constants__ = ["threshold", "value", "inplace"]
    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class LeakyReLU(Module):
    """`x` where it is positive, else `negative_slope * x`.

    Args:
        negative_slope (float): The slope for negative elements.
        inplace (bool): Whether the input itself is changed.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LeakyReLU(0.5)(tl_core.tensor([-4.0, 1.0]))
        tensor([-2.,  1.])
    """

    __constants__ = ["inplace", "negative_slope"]
    negative_slope: float
    inplace: bool

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class _Exponential(Module):
    """An activation that approaches `-alpha` for negative elements.

    Args:
        alpha (float): The limit.
        inplace (bool): Whether the input itself is changed.
    """

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Exponential):
    """`x` where it is positive, else `alpha * (exp(x) - 1)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ELU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.6321,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Exponential):
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CELU(alpha=2.0)(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7869,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.celu(input, self.alpha, self.inplace)


class RReLU(Module):
    """`x` where it is positive, else `x` times a slope: drawn for each element in training, else their mean.

    Args:
        lower, upper (float): Each slope is uniform on [lower, upper).
        inplace (bool): Whether the input itself is changed.

    Source: Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.RReLU(0.25, 0.75).eval()(tl_core.tensor([-2.0, 3.0]))
        tensor([-1.,  3.])
    """

    __constants__ = ["lower", "upper", "inplace"]
    lower: float
    upper: float
    inplace: bool

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """`x` times the probability that a standard normal number is smaller than `x`.

    Args:
        approximate (str): "none" for the exact function, "tanh" for an approximation by the hyperbolic tangent.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.GELU(approximate="tanh")(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1588,  0.0000,  0.8412])
    """

    __constants__ = ["approximate"]
    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` exceeds a threshold.

    Args:
        beta (float): How sharp the corner at 0 is.
        threshold (float): From where on the function is taken as straight.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softplus(beta=2.0)(tl_core.tensor([0.0, 50.0]))
        tensor([ 0.3466, 50.0000])
    """

    __constants__ = ["beta", "threshold"]
    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """`x` where it is positive, else `weight * x` with a learned weight.

    Args:
        num_parameters (int): 1, or the number of channels, which are dimension 1 of the input.
        init (float): The initial weight.
        device, dtype (optional): Of the weight.

    Attributes:
        weight : Parameter, shape (num_parameters,)

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.PReLU()(tl_core.tensor([-4.0, 1.0])).tolist()
        [-1.0, 1.0]
    """

    __constants__ = ["num_parameters"]
    num_parameters: int
    weight: Tensor

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tl_core.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Sigmoid()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Tanh()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.tanh(input)


class LogSigmoid(Module):
    """`log(1 / (1 + exp(-x)))`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LogSigmoid()(tl_core.tensor([-100.0, 0.0]))
        tensor([-100.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.logsigmoid(input)


class Tanhshrink(Module):
    """`x - tanh(x)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Tanhshrink()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2384,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.tanhshrink(input)


class Softsign(Module):
    """`x / (1 + |x|)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softsign()(tl_core.tensor([-3.0, 0.0, 1.0]))
        tensor([-0.7500,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.softsign(input)


class _Shrink(Module):
    """An activation that is 0 around 0.

    Args:
        lambd (float): How far from 0.
    """

    __constants__ = ["lambd"]
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """`x` where its absolute value exceeds `lambd`, else 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardshrink(0.5)(tl_core.tensor([-2.0, 0.25, 1.0]))
        tensor([-2.,  0.,  1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """`x` moved towards 0 by `lambd`, at most to 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softshrink(0.5)(tl_core.tensor([-2.0, 0.25, 1.0]))
        tensor([-1.5000,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.softshrink(input, self.lambd)


class _AlongDim(Module):
    """An activation along one dimension.

    Args:
        dim (int): The dimension.
    """

    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "dim" not in self.__dict__:
            self.dim = None

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """`exp(x) / sum(exp(x))` along a dimension.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmax(dim=0)(tl_core.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 along the dimension."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LogSoftmax(dim=-1)(tl_core.tensor([0.0, 0.0, 0.0, 0.0]))
        tensor([-1.3863, -1.3863, -1.3863, -1.3863])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The logarithms."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """`Softmax` of the negated input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmin(dim=0)(tl_core.tensor([0.0, 1.0]))
        tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 along the dimension."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """`Softmax` over the channels of an image of shape (N, C, H, W) or (C, H, W).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmax2d()(tl_core.zeros(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 over the channels.

        Raises:
            ValueError: If the input doesn't have 3 or 4 dimensions.
        """
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class GLU(Module):
    """`a * sigmoid(b)`, with `a` and `b` the two halves of the input along a dimension.

    Args:
        dim (int): The dimension, of an even size.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.GLU()(tl_core.zeros(4, 2)).shape
        torch.Size([4, 1])
    """

    __constants__ = ["dim"]
    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The gated half."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"

"""Activation functions as layers: those with pieces of straight lines, and the names of all."""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .base_activation import _MaybeInPlace
from .module import Module

# Their documented path is here.
from .multihead_attention import MultiheadAttention as MultiheadAttention
from .smooth_activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    LogSigmoid,
    Mish,
    Sigmoid,
    SiLU,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
)
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin

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


class ReLU(_MaybeInPlace):
    r"""The rectified linear unit: `max(x, 0)` of each element.

    Formula:
        .. math::

            \mathrm{ReLU}(x) = \max(x, 0)

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The derivative at 0 is 0. NaN stays NaN, with derivative 1.
        - Integer types are accepted. Bool and complex types raise NotImplementedError.
        - The backward pass reads the result, not the input, so `inplace=True` saves the memory of the input.
        - Source: Nair and Hinton, Rectified Linear Units Improve Restricted Boltzmann Machines, 2010.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReLU()(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.relu(input, self.inplace)


class Hardsigmoid(_MaybeInPlace):
    r"""A piecewise linear sigmoid: `min(max(x + 3, 0), 6) / 6` of each element.

    Formula:
        .. math::

            \mathrm{Hardsigmoid}(x) =
            \begin{cases} 0 & x \le -3 \\ 1 & x \ge 3 \\ x / 6 + 1/2 & \text{otherwise} \end{cases}

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The derivative is 1/6 between -3 and 3. It is 0 outside and at both corners.
        - Source: Howard et al., Searching for MobileNetV3, 2019.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardsigmoid()(tl_core.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_MaybeInPlace):
    r"""A piecewise approximation of `SiLU`: `x * min(max(x + 3, 0), 6) / 6` of each element.

    Formula:
        .. math::

            \mathrm{Hardswish}(x) =
            \begin{cases} 0 & x \le -3 \\ x & x \ge 3 \\ x \, (x + 3) / 6 & \text{otherwise} \end{cases}

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The derivative is 0 at x = -3 and 1 at x = 3.
        - Zeros of inputs below -3 have a negative sign. Negative infinity gives NaN.
        - Source: Howard et al., Searching for MobileNetV3, 2019.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardswish()(tl_core.tensor([-4.0, 1.0, 4.0]))
        tensor([-0.0000, 0.6667, 4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardswish(input, self.inplace)


class Hardtanh(Module):
    r"""A piecewise linear tanh: `min(max(x, min_val), max_val)` of each element.

    Formula:
        .. math::

            \mathrm{Hardtanh}(x) = \min\bigl(\max(x, \mathrm{min\_val}), \mathrm{max\_val}\bigr)

    Args:
        min_val, max_val (float): The bounds. The defaults are -1 and 1.
        inplace (bool): Whether the result overwrites the input. The default is False.
        min_value, max_value (float, optional): Older names of the bounds. They emit a FutureWarning.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The derivative is 1 strictly between the bounds and 0 elsewhere, the bounds included. NaN stays NaN.
        - Integer types are accepted. A bool input raises RuntimeError.
        - Source: Collobert, Large Scale Machine Learning, 2004.

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
    r"""A rectified linear unit with the upper bound 6: `min(max(x, 0), 6)` of each element.

    Formula:
        .. math::

            \mathrm{ReLU6}(x) = \min(\max(x, 0), 6)

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The derivative is 1 strictly between 0 and 6 and 0 elsewhere, both corners included. NaN stays NaN.
        - The bound keeps activations in a range that 8-bit numbers resolve well.
        - Source: Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.

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
    r"""Replaces each element that does not exceed a threshold by a constant.

    Formula:
        .. math::

            y = \begin{cases} x & x > \mathrm{threshold} \\ \mathrm{value} & \text{otherwise} \end{cases}

    Args:
        threshold (float): The threshold.
        value (float): The replacement of elements up to the threshold.
        inplace (bool): Whether the input itself is changed.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - An element equal to the threshold is replaced. The derivative is 1 above the threshold and 0 for replaced
          elements.
        - NaN stays NaN.
        - The function has a jump at the threshold unless `value` equals `threshold`.

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
    r"""A rectified linear unit with a small slope for negative elements.

    Formula:
        .. math::

            \mathrm{LeakyReLU}(x) = \begin{cases} x & x > 0 \\ \mathrm{negative\_slope} \cdot x & x \le 0 \end{cases}

    Args:
        negative_slope (float): The factor of negative elements. The default is 0.01.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The derivative at 0 is `negative_slope`.
        - `init.calculate_gain("leaky_relu", negative_slope)` returns the matching gain of an initialization.
        - Source: Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.

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


class RReLU(Module):
    r"""A leaky rectified linear unit whose slope for negative elements is random in training.

    Formula:
        .. math::

            \mathrm{RReLU}(x) = \begin{cases} x & x > 0 \\ a \, x & x \le 0 \end{cases}

        In training each element has its own slope `a`, uniform on [`lower`, `upper`). In evaluation `a` is
        `(lower + upper) / 2`.

    Args:
        lower, upper (float): The bounds of the random factors. The defaults are 1/8 and 1/3.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The factors come from the default random generator, so `manual_seed` reproduces them. The backward pass
          uses the factors of the forward pass.
        - The derivative at 0 is the element's slope.
        - Source: Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.

    Raises:
        RuntimeError: If `lower` exceeds `upper`, when the layer is called.

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


class PReLU(Module):
    r"""A leaky rectified linear unit with a learned factor for negative elements.

    Formula:
        .. math::

            \mathrm{PReLU}(x) = \begin{cases} x & x > 0 \\ a \, x & x \le 0 \end{cases}

        `a` is `weight`, or its element of the channel.

    Args:
        num_parameters (int): 1 for one slope, or the number of channels for one slope each. The default is 1.
        init (float): The initial slope. The default is 0.25.
        device, dtype (optional): The device and the type of the weight. None selects the defaults.

    Shape:
        - Input: `(*)`, or `(N, C, *)` with one slope for each of the C channels, which are dimension 1. The channel
          size of an input of 1 dimension is 1.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_parameters,)): The factors of negative elements, `init` at first.

    Notes:
        - The derivative at 0 is the slope. The gradient of a slope is the sum of its negative inputs times their
          gradients.
        - Input and weight have the same type. Other pairs raise RuntimeError.
        - Weight decay pulls the weight to 0, the plain `ReLU`. The authors train them without it.
        - Source: He et al., Delving Deep into Rectifiers, 2015.

    Raises:
        RuntimeError: If the number of channels differs from `num_parameters` and `num_parameters` isn't 1.

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
    r"""Sets elements whose absolute value does not exceed a limit to 0.

    Formula:
        .. math::

            \mathrm{Hardshrink}(x) = \begin{cases} x & |x| > \lambda \\ 0 & \text{otherwise} \end{cases}

    Args:
        lambd (float): The limit `λ`. The default is 0.5.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - An element equal to the limit becomes 0. The derivative is 1 where the element stays and 0 where it
          becomes 0.
        - The function has jumps at both limits. `Softshrink` has none. NaN stays NaN.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Hardshrink(0.5)(tl_core.tensor([-2.0, 0.25, 1.0]))
        tensor([-2.,  0.,  1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    r"""Moves each element towards 0 by a constant, at most to 0.

    Formula:
        .. math::

            \mathrm{Softshrink}(x) =
            \begin{cases} x - \lambda & x > \lambda \\ x + \lambda & x < -\lambda \\ 0 & \text{otherwise} \end{cases}

    Args:
        lambd (float): The constant `λ`, at least 0. The default is 0.5.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The function is the proximal operator of `λ |x|`, the step of sparse coding by ISTA.
        - The derivative is 1 where the result isn't 0. At the limits it is 0. NaN stays NaN.

    Raises:
        RuntimeError: If `lambd` is negative, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softshrink(0.5)(tl_core.tensor([-2.0, 0.25, 1.0]))
        tensor([-1.5000,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.softshrink(input, self.lambd)

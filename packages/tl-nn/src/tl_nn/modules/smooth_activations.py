"""Activation functions with a smooth curve: sigmoids, exponential units, gates."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .base_activation import _MaybeInPlace
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "LogSigmoid",
    "Mish",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class Sigmoid(Module):
    r"""The logistic sigmoid: `1 / (1 + exp(-x))` of each element.

    Formula:
        .. math::

            \sigma(x) = \frac{1}{1 + e^{-x}}

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - Integer and bool input gives a result of the default floating-point type. Complex input is accepted.
        - Numbers of large magnitude give exactly 0 or 1, where the derivative `y (1 - y)` is 0. For a loss of the
          result, prefer `BCEWithLogitsLoss`, which takes `x` and doesn't saturate.
        - The backward pass reads the result `y`, not the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Sigmoid()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    r"""The logarithm of the logistic sigmoid of each element.

    Formula:
        .. math::

            \mathrm{LogSigmoid}(x) = \ln \frac{1}{1 + e^{-x}} = \min(x, 0) - \ln\bigl(1 + e^{-|x|}\bigr)

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The kernel computes the right-hand form, which neither overflows nor loses precision: x = -10000 gives
          -10000, where the logarithm of `sigmoid(x)` is negative infinity.
        - The derivative is `sigmoid(-x)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LogSigmoid()(tl_core.tensor([-100.0, 0.0]))
        tensor([-100.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.logsigmoid(input)


class Tanh(Module):
    r"""The hyperbolic tangent of each element.

    Formula:
        .. math::

            \tanh(x) = \frac{e^{x} - e^{-x}}{e^{x} + e^{-x}}

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - Integer and bool input gives a result of the default floating-point type. Complex input is accepted.
        - The derivative is `1 - y * y` of the result `y`, which the backward pass reads instead of the input.
        - Numbers of large magnitude give exactly -1 or 1, with derivative 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Tanh()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.tanh(input)


class Tanhshrink(Module):
    r"""`x - tanh(x)` of each element.

    Formula:
        .. math::

            \mathrm{Tanhshrink}(x) = x - \tanh(x)

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The layer is a subtraction after `tanh`. Near 0 the result, about `x³ / 3`, loses digits by cancellation:
          below |x| = 0.001 few digits of float32 remain.
        - Integer and complex types are accepted.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Tanhshrink()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2384,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.tanhshrink(input)


class Softsign(Module):
    r"""`x / (1 + |x|)` of each element, a sigmoid with slow tails.

    Formula:
        .. math::

            \mathrm{Softsign}(x) = \frac{x}{1 + |x|}

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The derivative is `1 / (1 + |x|)²`, also at 0. It falls with the square of `x`, where that of `Tanh` falls
          exponentially.
        - Infinities give NaN. float16 and bfloat16 are rounded after each of the three operations.
        - Source: Turian, Bergstra and Bengio, Quadratic Features and Deep Architectures for Chunking, 2009.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softsign()(tl_core.tensor([-3.0, 0.0, 1.0]))
        tensor([-0.7500,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.softsign(input)


class Softplus(Module):
    r"""A smooth rectified linear unit, which is positive everywhere.

    Formula:
        .. math::

            \mathrm{Softplus}(x) = \frac{1}{\beta} \ln\bigl(1 + e^{\beta x}\bigr)

        `β` is `beta`.

    Args:
        beta (float): The sharpness of the corner at 0, not 0. The default is 1.
        threshold (float): The value of `beta * x` above which the result is `x` itself. The default is 20.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - Elements with `beta * x > threshold` are returned unchanged and have derivative 1. With the default the
          difference is below the precision of float32.
        - The kernel computes `log1p`, so large negative numbers give small positive results instead of 0 until
          `exp` underflows.
        - The derivative is `sigmoid(beta * x)`.
        - Source: Dugas et al., Incorporating Second-Order Functional Knowledge for Better Option Pricing, 2001.

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


class SiLU(_MaybeInPlace):
    r"""The sigmoid linear unit: `x * sigmoid(x)` of each element. Another name is swish.

    Formula:
        .. math::

            \mathrm{SiLU}(x) = x \, \sigma(x) = \frac{x}{1 + e^{-x}}

        `σ` is the logistic sigmoid.

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The function is smooth and has its minimum of about -0.278 at x = -1.278.
        - Negative infinity gives NaN, because 0 times infinity has no value. Finite numbers of any size give finite
          results.
        - Complex input is accepted.
        - Source: Elfwing et al., Sigmoid-Weighted Linear Units for Neural Network Function Approximation in
          Reinforcement Learning, 2017. Ramachandran et al., Searching for Activation Functions, 2017.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SiLU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.silu(input, self.inplace)


class Mish(_MaybeInPlace):
    r"""`x * tanh(softplus(x))` of each element, a smooth relative of `SiLU`.

    Formula:
        .. math::

            \mathrm{Mish}(x) = x \tanh\bigl(\ln(1 + e^{x})\bigr)

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The minimum is about -0.309 at x = -1.192, and the derivative at 0 is 0.6.
        - Negative infinity gives NaN. Finite numbers of any size give finite results.
        - Source: Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Mish()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.mish(input, self.inplace)


class GELU(Module):
    r"""The Gaussian error linear unit: `x` times the probability that a standard normal number is less than `x`.

    Formula:
        .. math::

            \mathrm{GELU}(x) = x \, \Phi(x) = \frac{x}{2} \left( 1 + \mathrm{erf}\frac{x}{\sqrt{2}} \right)

        `Φ` is the distribution function of the standard normal distribution. `approximate="tanh"` computes

        .. math::

            \frac{x}{2} \left( 1 + \tanh\left( \sqrt{2 / \pi} \, (x + 0.044715 \, x^{3}) \right) \right)

    Args:
        approximate (str): "none" for the exact function, "tanh" for the approximation. The default is "none".

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The approximation differs from the exact function by less than 0.0005 everywhere. Checkpoints of GPT-2 and
          of many later models expect "tanh".
        - The derivative at 0 is 1/2. Negative infinity gives NaN.
        - Source: Hendrycks and Gimpel, Gaussian Error Linear Units (GELUs), 2016.

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


class GLU(Module):
    r"""The gated linear unit: one half of the input times the sigmoid of the other half.

    Formula:
        .. math::

            \mathrm{GLU}(a, b) = a \otimes \sigma(b)

        `a` is the first half of the input along `dim`, `b` the second, `σ` the logistic sigmoid and `⊗` the product
        of elements.

    Args:
        dim (int): The dimension that is halved. The default is -1, the last.

    Shape:
        - Input: `(*, 2 M, *)`, with the even size `2 M` in the dimension `dim`.
        - Output: `(*, M, *)`.

    Notes:
        - The gradient of `a` is scaled by `σ(b)` only, so a linear path through the layer remains.
        - Source: Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Raises:
        RuntimeError: If the size of the dimension is odd, or the input has no dimension.

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
    r"""The exponential linear unit, which approaches `-alpha` for small numbers.

    Formula:
        .. math::

            \mathrm{ELU}(x) = \begin{cases} x & x > 0 \\ \alpha \, (e^{x} - 1) & x \le 0 \end{cases}

        `α` is `alpha`.

    Args:
        alpha (float): Minus the limit for small numbers. The default is 1.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The kernel computes `expm1`, so results near 0 keep their precision.
        - The derivative at 0 is `alpha`: with another value than 1 the function has a corner there. `CELU` has
          none.
        - Source: Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units (ELUs), 2015.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ELU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.6321,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Exponential):
    r"""An exponential linear unit with a continuous derivative for every `alpha`.

    Formula:
        .. math::

            \mathrm{CELU}(x) = \begin{cases} x & x > 0 \\ \alpha \, (e^{x / \alpha} - 1) & x \le 0 \end{cases}

        `α` is `alpha`, and `-α` is the limit for small numbers.

    Args:
        alpha (float): The scale of the negative part, not 0. The default is 1.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The derivative at 0 is 1 for every `alpha`. With `alpha=1` the function is `ELU`.
        - Source: Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Raises:
        RuntimeError: If `alpha` is 0, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CELU(alpha=2.0)(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7869,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.celu(input, self.alpha, self.inplace)


class SELU(_MaybeInPlace):
    r"""The scaled exponential linear unit, under which activations keep zero mean and unit variance.

    Formula:
        .. math::

            \mathrm{SELU}(x) = \lambda \begin{cases} x & x > 0 \\ \alpha \, (e^{x} - 1) & x \le 0 \end{cases}

        The constants are `λ = 1.0507009873554805` and `α = 1.6732632423543772`.

    Args:
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The input has a floating-point type. The kernel computes float16 and bfloat16 in float32 and rounds the
          result once.
        - The derivative at 0 is that of the exponential branch, `λ α ≈ 1.7581`. The limit for small
          numbers is `-λ α`.
        - The self-normalizing property needs weights of mean 0 and variance `1 / fan_in`: `init.kaiming_normal_`
          with `nonlinearity="linear"`. The matching dropout is `AlphaDropout`.
        - Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SELU()(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The activation of each element."""
        return F.selu(input, self.inplace)

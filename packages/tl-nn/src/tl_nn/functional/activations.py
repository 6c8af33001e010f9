"""Activation functions, applied to each element or along one dimension."""

import warnings
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


# Element by element


@overridable
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.relu(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return tl_core.relu_(input) if inplace else tl_core.relu(input)


@overridable
def relu_(input: Tensor) -> Tensor:
    """`max(x, 0)` in place.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> x = tl_core.tensor([-1.0, 2.0])
        >>> F.relu_(x) is x, x
        (True, tensor([0., 2.]))
    """
    return tl_core.relu_(input)


@overridable
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x, 0), 6)`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.relu6(tl_core.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return hardtanh_(input, 0.0, 6.0) if inplace else hardtanh(input, 0.0, 6.0)


@overridable
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`min(max(x, min_val), max_val)`, with gradient 0 at the two bounds.

    Args:
        input: the values, of any shape.
        min_val: the lower bound.
        max_val: the upper bound.
        inplace: whether the result is written into `input`.

    Raises:
        ValueError: If `min_val` exceeds `max_val`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.hardtanh(tl_core.tensor([-3.0, 0.5, 3.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    if input.dtype == tl_core.bool:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    compute = nn_functions.hardtanh_ if inplace else nn_functions.hardtanh
    return compute(input, min_val, max_val)


@overridable
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place.

    Args:
        input: the values, of any shape.
        min_val: the lower bound.
        max_val: the upper bound.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.hardtanh_(tl_core.tensor([-3.0, 3.0]), -2.0, 2.0)
        tensor([-2.,  2.])
    """
    return hardtanh(input, min_val, max_val, inplace=True)


@overridable
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it exceeds `threshold`, else `value`.

    Args:
        input: the values, of any shape.
        threshold: the lower bound of unchanged elements.
        value: the replacement of all other elements.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.threshold(tl_core.tensor([0.5, 1.0, 1.5]), 1.0, -7.0)
        tensor([-7.0000, -7.0000,  1.5000])
    """
    return (tl_core.threshold_ if inplace else tl_core.threshold)(input, threshold, value)


@overridable
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`x` where it exceeds `threshold`, else `value`, in place.

    Args:
        input: the values, of any shape.
        threshold: the lower bound of unchanged elements.
        value: the replacement of all other elements.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.threshold_(tl_core.tensor([0.5, 1.5]), 1.0, 0.0)
        tensor([0.0000, 1.5000])
    """
    return tl_core.threshold_(input, threshold, value)


@overridable
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `negative_slope * x`.

    Args:
        input: the values, of any shape.
        negative_slope: the factor of negative elements.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.leaky_relu(tl_core.tensor([-1.0, 0.0, 1.0]), 0.1)
        tensor([-0.1000,  0.0000,  1.0000])
    """
    return (nn_functions.leaky_relu_ if inplace else nn_functions.leaky_relu)(input, negative_slope)


@overridable
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.leaky_relu_(tl_core.tensor([-1.0, 1.0]))
        tensor([-0.0100,  1.0000])
    """
    return nn_functions.leaky_relu_(input, negative_slope)


prelu = tl_core.prelu


@overridable
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`x` where it is positive, else `x` times a slope drawn from [lower, upper), or their mean unless training.

    Args:
        input: the values, of any shape.
        lower: the lower bound of the factors.
        upper: the upper bound, at least the lower.
        training: whether factors are random. Otherwise all are the mean of the bounds.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.rrelu(tl_core.tensor([-8.0, 1.0]), lower=0.25, upper=0.5, training=False)
        tensor([-3.,  1.])
    """
    return (tl_core.rrelu_ if inplace else tl_core.rrelu)(input, lower, upper, training)


@overridable
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place.

    Args:
        input: the values, of any shape.
        lower: the lower bound of the factors.
        upper: the upper bound, at least the lower.
        training: whether factors are random. Otherwise all are the mean of the bounds.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.rrelu_(tl_core.tensor([-8.0, 1.0]), lower=0.25, upper=0.5, training=False)
        tensor([-3.,  1.])
    """
    return tl_core.rrelu_(input, lower, upper, training)


@overridable
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`.

    Args:
        input: the values, of any shape.
        alpha: minus the limit for small numbers.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.elu(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.6321,  0.0000,  1.0000])
    """
    return (nn_functions.elu_ if inplace else nn_functions.elu)(input, alpha)


@overridable
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.elu_(tl_core.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
    return nn_functions.elu_(input, alpha)


@overridable
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that values of zero mean and unit variance keep them: Klambauer et al., 2017.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.selu(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """
    return (tl_core.selu_ if inplace else tl_core.selu)(input)


@overridable
def selu_(input: Tensor) -> Tensor:
    """`selu` in place.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.selu_(tl_core.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return tl_core.selu_(input)


@overridable
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    Args:
        input: the values, of any shape.
        alpha: the scale of the negative part, not 0.
        inplace: whether the result is written into `input`.

    Raises:
        RuntimeError: If `alpha` is 0.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.celu(tl_core.tensor([-1.0, 0.0, 1.0]), alpha=2.0)
        tensor([-0.7869,  0.0000,  1.0000])
    """
    return (tl_core.celu_ if inplace else tl_core.celu)(input, alpha)


@overridable
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.celu_(tl_core.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
    return tl_core.celu_(input, alpha)


gelu = nn_functions.gelu


softplus = nn_functions.softplus


logsigmoid = nn_functions.log_sigmoid


@overridable
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.mish(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """
    return (nn_functions.mish_ if inplace else nn_functions.mish)(input)


@overridable
def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.sigmoid(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """
    return tl_core.sigmoid(input)


@overridable
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.tanh(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """
    return tl_core.tanh(input)


@overridable
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`, also called swish.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.silu(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return (nn_functions.silu_ if inplace else nn_functions.silu)(input)


@overridable
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x + 3, 0), 6) / 6`, a piecewise linear sigmoid.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.hardsigmoid(tl_core.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return (nn_functions.hardsigmoid_ if inplace else nn_functions.hardsigmoid)(input)


@overridable
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * min(max(x + 3, 0), 6) / 6`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.hardswish(tl_core.tensor([-1.0, 1.0, 4.0]))
        tensor([-0.3333,  0.6667,  4.0000])
    """
    return (nn_functions.hardswish_ if inplace else nn_functions.hardswish)(input)


hardshrink = tl_core.hardshrink


softshrink = nn_functions.softshrink


@overridable
def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.softsign(tl_core.tensor([-3.0, 0.0, 1.0]))
        tensor([-0.7500,  0.0000,  0.5000])
    """
    return input / (input.abs() + 1)


@overridable
def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.tanhshrink(tl_core.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2384,  0.0000,  0.2384])
    """
    return input - input.tanh()


# Along a dimension


@overridable
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension.

    Args:
        input (Tensor): Of any shape.
        dim (int): The dimension along which the results sum to 1.
        dtype (dtype, optional): The type of the conversion of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.softmax(tl_core.zeros(4), dim=0)
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return tl_core.softmax(input, _softmax_dim(dim, input, "softmax", _stacklevel), dtype=dtype)


@overridable
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without leaving the range of numbers.

    Args:
        input: the scores.
        dim: the dimension over which the results are normalized.
        dtype: the type to which the input is converted first. None keeps its own.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.log_softmax(tl_core.tensor([0.0, 1000.0]), dim=0)
        tensor([-1000.,     0.])
    """
    return tl_core.log_softmax(input, _softmax_dim(dim, input, "log_softmax", _stacklevel), dtype=dtype)


@overridable
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of `-input`.

    Args:
        input: the scores.
        dim: the dimension over which the results are normalized.
        dtype: the type to which the input is converted first. None keeps its own.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.softmin(tl_core.tensor([0.0, 1.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    return tl_core.softmax(-input, _softmax_dim(dim, input, "softmin", _stacklevel), dtype=dtype)


def _softmax_dim(dim: int | None, input: Tensor, name: str, stacklevel: int) -> int:
    return _get_softmax_dim(name, input.dim(), stacklevel + 1) if dim is None else dim


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension of calls without `dim`, with a warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


@overridable
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """`a * sigmoid(b)`, with `a` and `b` the two halves of the input along `dim`.

    Raises:
        RuntimeError: If `input` has no dimensions, or an odd size along `dim`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.glu(tl_core.tensor([2.0, 4.0, 0.0, 100.0]))
        tensor([1., 4.])
    """
    return nn_functions.glu(input, dim)

"""Normalization over samples, batches and neighbours."""

from collections.abc import Sequence
from math import prod

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

from .checks import check_tensor
from .helpers import _verify_spatial_size

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


@overridable
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel over all samples and positions.

    Args:
        input (Tensor, shape (N, C, *)): The values to normalize, C channels each.
        running_mean, running_var (Tensor, shape (C,), optional): Training moves them towards the batch's mean and
            unbiased variance; otherwise the input is normalized with them.
        weight, bias (Tensor, shape (C,), optional): Factor and shift of each channel, of the input's type, or
            float32 beside a half type.
        training (bool): Whether the batch's own statistics are used.
        momentum (float): How far the running statistics move.
        eps (float): Added to the variance.

    Raises:
        ValueError: If there is only one value a channel to train with.
        RuntimeError: If a parameter has another length or type, or statistics are missing.

    References:
        Ioffe and Szegedy, Batch Normalization, 2015.

    Example:
        >>> import tl_core, tl_nn
        >>> x = tl_core.tensor([[1.0], [3.0]])
        >>> tl_nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training:
        _check_several(input.shape)
    return tl_core.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@overridable
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample over its positions. See `batch_norm` for the arguments.

    Args:
        input: the values, (batch, channels, *spatial).
        running_mean: the running means, one a channel, updated if `use_input_stats`.
        running_var: the running variances.
        weight: the factors, one a channel.
        bias: the shifts, one a channel.
        use_input_stats: whether each sample's own statistics are used instead of the running ones.
        momentum: the weight of the newest batch in the running statistics.
        eps: added to the variances.

    Raises:
        ValueError: If a channel has only one position.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.instance_norm(tl_core.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats:
        _verify_spatial_size(input.shape)
    return tl_core.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


@overridable
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize over the last dimensions.

    Args:
        input (Tensor, shape (*, *normalized_shape)): The values to normalize over the last dimensions.
        normalized_shape (sequence of int): The last dimensions of the input.
        weight, bias (Tensor, shape normalized_shape, optional): Factor and shift of each element, of the input's
            type, or float32 beside a half type.
        eps (float): Added to the variance.

    Raises:
        RuntimeError: If the shapes or types don't fit.

    References:
        Ba, Kiros and Hinton, Layer Normalization, 2016.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.layer_norm(tl_core.tensor([[1.0, 3.0]]), [2])
        tensor([[-1.0000,  1.0000]])
    """
    return tl_core.layer_norm(input, normalized_shape, weight, bias, eps)


@overridable
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions. The default `eps` is the type's.

    Args:
        input: the values.
        normalized_shape: the sizes of the last dimensions, over which the mean is taken.
        weight: the factors, of that shape. None selects 1.
        eps: added to the mean square. None selects the smallest step at 1 of the type.

    References:
        Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.rms_norm(tl_core.tensor([[1.0, 7.0]]), [2])
        tensor([[0.2000, 1.4000]])
    """
    return tl_core.rms_norm(input, normalized_shape, weight, eps)


@overridable
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each group of channels of each sample.

    Args:
        input (Tensor, shape (N, C, *)): The values to normalize in groups of channels.
        num_groups (int): Divides C.
        weight, bias (Tensor, shape (C,), optional): Factor and shift of each channel.
        eps (float): Added to the variance.

    Raises:
        RuntimeError: If C isn't a multiple of `num_groups`, or the shapes or types don't fit.

    References:
        Wu and He, Group Normalization, 2018.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.group_norm(tl_core.tensor([[1.0, 3.0]]), 1)
        tensor([[-1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    if num_groups > 0:
        _check_several((input.size(0) * input.size(1) // num_groups, num_groups, *input.shape[2:]))
    return tl_core.group_norm(input, num_groups, weight, bias, eps)


@overridable
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    r"""Divide by `(k + alpha * mean of the squares of the `size` channels around) ** beta`.

    Formula:
        .. math::

            y_c = x_c \left( k + \frac{\alpha}{\mathrm{size}} \sum_{j = c - \lfloor \mathrm{size} / 2 \rfloor}^{c +
            \lfloor (\mathrm{size} - 1) / 2 \rfloor} x_j^{2} \right)^{-\beta}

        `c` is a channel, and `x_j` is 0 for channels that don't exist. `α`, `β` and `k` are the arguments of these
        names.

    Args:
        input (Tensor, shape (N, C, *)): With at least one position a channel.
        size: how many neighbouring channels are summed over.
        alpha: the factor of the mean square.
        beta: the exponent of the denominator.
        k: the summand of the denominator.

    Shape:
        - Input: `(N, C, *)`, with at least one further dimension.
        - Output: the shape of the input.

    Notes:
        - The window of an even size has one more channel before the element than behind it.
        - The sum is divided by `size` at the first and last channels, too.
        - Source: Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    Raises:
        ValueError: If the input has fewer than three dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.local_response_norm(tl_core.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
        tensor([[[0.5000],
                 [0.3333]]])
    """
    check_tensor("local_response_norm", input)
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    square = input * input
    before, after = size // 2, (size - 1) // 2
    shape = list(square.shape)
    shape[1] = before
    pieces = [square.new_zeros(shape), square]
    shape[1] = after
    windows = tl_core.cat([*pieces, square.new_zeros(shape)], 1).unfold(1, size, 1)
    around = windows.mean(-1) if square.is_floating_point() else windows.sum(-1) // size
    return input / (around * alpha + k) ** beta


@overridable
def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | tuple[int, ...] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    r"""Divide by the p-norm along dimensions, or by `eps` where that is larger.

    Formula:
        .. math::

            y = \frac{x}{\max(\lVert x \rVert_p, \mathrm{eps})}

        The norm is over the dimensions `dim`, for each index of the others.

    Args:
        input (Tensor): Of any shape and a floating-point or complex type.
        p (float): The exponent of the norm.
        dim (int or tuple of int): The dimensions of a vector.
        eps (float): The smallest divisor.
        out (Tensor, optional): Takes the result, which then isn't differentiable.

    Shape:
        - Input: `(*)`, any shape with the dimensions `dim`.
        - Output: the shape of the input.

    Notes:
        - A vector of zeros remains zeros. Its gradient is that of a division by `eps`, up to 1e12 by default.
        - The default `dim` is 1, the channels of a batch.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.normalize(tl_core.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else tl_core.div(input, length, out=out)


def _check_several(shape: Sequence[int]) -> None:
    """Refuse to take a variance of one value."""
    if len(shape) > 1 and shape[0] * prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")

"""Dropout: random zeros that keep the expected value."""

import warnings

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

from .checks import check_tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability `p` and divide the others by `1 - p`.

    Args:
        input (Tensor): Of any shape and a floating-point type.
        p (float): From 0 to 1.
        training (bool): Where False, the input is returned unchanged.
        inplace (bool): Whether the input itself is changed.

    Raises:
        ValueError: If `p` isn't between 0 and 1.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.dropout(tl_core.ones(3), p=0.0)
        tensor([1., 1., 1.])
    """
    _check_probability(p)
    drop = tl_core.dropout_ if inplace else tl_core.dropout
    return drop(input, p, training)


@overridable
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0: rows of an input of shape (N, C, L) or (C, L).

    Args:
        input: the values, of any shape.
        p: the probability that an element or channel is dropped, from 0 to 1.
        training: whether anything is dropped.
        inplace: whether the result is written into `input`.

    Raises:
        RuntimeError: If the input has another number of dimensions.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> x = F.dropout1d(tl_core.ones(8, 4, 3), 0.5)
        >>> bool((x[..., :1] == x).all())
        True
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, batched=input.dim() == 3)


@overridable
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0: planes of an input of shape (N, C, H, W), rows of one of shape (N, C, L).

    Args:
        input: the values, of any shape.
        p: the probability that an element or channel is dropped, from 0 to 1.
        training: whether anything is dropped.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> x = F.dropout2d(tl_core.ones(8, 4, 3, 3), 0.5)
        >>> bool((x[..., :1, :1] == x).all())
        True
    """
    if input.dim() not in (3, 4):
        _warn_rank(input, "dropout2d", 2)
    elif input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
            "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior "
            "will change in a future release to interpret the input as one without a batch dimension, i.e. "
            "shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
            "dropout1d instead.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace, batched=True)


@overridable
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0: volumes of an input of shape (N, C, D, H, W) or (C, D, H, W).

    Args:
        input: the values, of any shape.
        p: the probability that an element or channel is dropped, from 0 to 1.
        training: whether anything is dropped.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.dropout3d(tl_core.ones(2, 4, 3, 3, 3), 0.5).shape
        torch.Size([2, 4, 3, 3, 3])
    """
    if input.dim() not in (4, 5):
        _warn_rank(input, "dropout3d", 3)
    return _drop_channels(input, p, training, inplace, batched=input.dim() == 5)


@overridable
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of the self-normalizing activation SELU.

    Args:
        input: the values, of any shape.
        p: the probability that an element or channel is dropped, from 0 to 1.
        training: whether anything is dropped.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.alpha_dropout(tl_core.tensor([1.0, 2.0]), 0.5, training=False)
        tensor([1., 2.])
    """
    if _is_off(input, p, training):
        return input
    return _alpha_drop(input, tl_core.empty_like(input), p, inplace)


@overridable
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels, for an input of shape (N, C, ...).

    Args:
        input: the values, of any shape.
        p: the probability that an element or channel is dropped, from 0 to 1.
        training: whether anything is dropped.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.feature_alpha_dropout(tl_core.ones(1, 2, 2), 0.5, training=False).shape
        torch.Size([1, 2, 2])
    """
    if _is_off(input, p, training):
        return input
    return _alpha_drop(input, _one_per_channel(input), p, inplace)


def _is_off(input: Tensor, p: float, training: bool) -> bool:
    """Whether a call drops no elements."""
    _check_probability(p)
    check_tensor("dropout", input)
    return not training or p == 0.0 or input.numel() == 0


def _check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _warn_rank(input: Tensor, name: str, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error "
        f"in a future release. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension.",
        stacklevel=3,
    )


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if _is_off(input, p, training):
        return input
    if batched:
        return _scale(input, _noise(_one_per_channel(input), p), inplace)
    return _scale(input, _noise(_one_per_channel(input.unsqueeze(0)), p).squeeze(0), inplace)


def _one_per_channel(input: Tensor) -> Tensor:
    """An uninitialised tensor with one element for each channel of each sample."""
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *(1,) * (input.dim() - 2))
    return tl_core.empty(shape, dtype=input.dtype, device=input.device)


def _noise(factor: Tensor, p: float) -> Tensor:
    """Fill `factor`: 0 with probability `p`, else `1 / (1 - p)`."""
    return factor.zero_() if p == 1.0 else factor.bernoulli_(1 - p).div_(1 - p)


def _scale(input: Tensor, factor: Tensor, inplace: bool) -> Tensor:
    return input.mul_(factor) if inplace else input * factor


def _alpha_drop(input: Tensor, mask: Tensor, p: float, inplace: bool) -> Tensor:
    """Put dropped elements at SELU's lower limit, then stretch so that mean and variance stay."""
    limit = 1.7580993408473766
    if p == 1.0:
        return _scale(input, mask.zero_(), inplace)
    stretch = ((limit**2 * p + 1) * (1 - p)) ** -0.5
    mask.bernoulli_(1 - p)
    shift = (mask - 1).mul_(limit * stretch).add_(limit * stretch * p)
    scaled = _scale(input, mask.mul_(stretch), inplace)
    return scaled.add_(shift) if inplace else scaled + shift

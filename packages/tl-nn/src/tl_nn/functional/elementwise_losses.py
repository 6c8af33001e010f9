"""Losses of each element by itself."""

import warnings
from math import log, pi

from tl_core import Tensor, broadcast_tensors, where
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.dispatch.keys import is_tensor_subclass_like
from tl_core.dispatch.modes import modes_in_force
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import check, reduce_losses, resolve_reduction
from .activations import logsigmoid
from .checks import check_tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
]


@overridable
@in_float32
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference of each element, reduced.

    Args:
        input, target (Tensor): Tensors of equal shape. Other shapes are broadcast, with a warning.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        reduction (str): "none" for the elements, "mean" for their mean, "sum" for their sum.
        weight (Tensor, optional): A factor for each element. The mean is then over the weights.

    Raises:
        ValueError: If `reduction` is another name.
        RuntimeError: If the shapes can't be broadcast.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.mse_loss(tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape(input, target)
    return _reduce_weighted(_squared_error(input, target), weight, reduction)


@overridable
@in_float32
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference of each element, reduced. See `mse_loss` for the arguments.

    Args:
        input: the predictions.
        target: the values wanted, of the same or a broadcastable shape.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.
        weight: a factor for each element.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.l1_loss(tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape(input, target)
    return _reduce_weighted((input - target).abs(), weight, reduction)


def _squared_error(input: Tensor, target: Tensor) -> Tensor:
    if input.is_floating_point() and target.is_floating_point():
        return nn_functions.squared_error(input, target)
    difference = input - target
    return difference * difference


def _of_one_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, broadcast, with a warning where shapes differ: one without dimensions then counts in promotion too."""
    check_tensor("loss", input)
    check_tensor("loss", target, "target")
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=4,
    )
    input, target = broadcast_tensors(input, target)
    return input, target


def _reduce_weighted(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return reduce_losses(losses, reduction)
    if weight.shape != losses.shape:
        raise ValueError(f"Inputs and weight must have the same size, got {losses.shape} and {weight.shape}.")
    total = losses * weight
    return total.sum() / weight.sum() if reduction == "mean" else reduce_losses(total, reduction)


@overridable
@in_float32
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """`d² / (2 beta)` where the absolute difference `d` is less than `beta`, else `d - beta / 2`.

    Args:
        input, target, size_average, reduce, reduction: See `mse_loss`.
        beta (float): The end of the parabola. 0 is `l1_loss`.

    Raises:
        RuntimeError: If `beta` is negative.
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.smooth_l1_loss(tl_core.tensor([0.0, 0.0]), tl_core.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape(input, target)
    if input.is_floating_point() and target.is_floating_point():
        return reduce_losses(nn_functions.smooth_l1_error(input, target, beta), reduction)
    size = (input - target).abs()
    return reduce_losses(where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


@overridable
@in_float32
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """`d² / 2` where the absolute difference `d` is at most `delta`, else `delta (d - delta / 2)`.

    Args:
        input, target, reduction, weight: See `mse_loss`.
        delta (float): Where the parabola ends.

    Raises:
        RuntimeError: If `delta` isn't positive.
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.huber_loss(tl_core.tensor([0.0, 0.0]), tl_core.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    reduction = resolve_reduction(None, None, reduction)
    input, target = _of_one_shape(input, target)
    if input.is_floating_point() and target.is_floating_point():
        return _reduce_weighted(nn_functions.huber_error(input, target, delta), weight, reduction)
    size = (input - target).abs()
    return _reduce_weighted(
        where(size <= delta, size * size * 0.5, (size - 0.5 * delta) * delta), weight, reduction
    )


@overridable
@in_float32
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of the distribution `target` from `input`.

    Args:
        input (Tensor): Log-probabilities.
        target (Tensor): Probabilities or, with `log_target`, their logarithms.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        reduction (str): As in `mse_loss`, or "batchmean" for the sum divided by the first size, which is the
            divergence as it is defined.
        log_target (bool): Whether `target` holds logarithms.

    Raises:
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> target = tl_core.tensor([[0.5, 0.5]])
        >>> tl_nn.functional.kl_div(target.log(), target, reduction="batchmean")
        tensor(0.)
    """
    check_tensor("kl_div", input)
    check_tensor("kl_div", target, "target")
    reduction = resolve_reduction(size_average, reduce, reduction)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        nothing = target == 0
        safe = where(nothing, 1.0, target)  # 0 log 0 is 0, with a finite gradient
        losses = where(nothing, target, safe * safe.log()) - target * input
    if reduction == "batchmean":
        return losses.sum() / (input.shape[0] if input.dim() else 1)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=3,
        )
    return reduce_losses(losses, reduction)


@overridable
@in_float32
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`-(t log p + (1 - t) log(1 - p))` of probabilities `p` and targets `t`, reduced.

    Args:
        input (Tensor): Probabilities, from 0 to 1. Their logarithms are taken as at least -100.
        target (Tensor): Of the same shape, from 0 to 1.
        weight (Tensor, optional): A factor for each element, broadcast.
        size_average, reduce, reduction: See `mse_loss`.

    Raises:
        ValueError: If the shapes differ, or `reduction` isn't known.
        RuntimeError: If an input isn't from 0 to 1.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.binary_cross_entropy(tl_core.tensor([0.5]), tl_core.tensor([1.0]))
        tensor(0.6931)
    """
    check_tensor("binary_cross_entropy", input)
    check_tensor("binary_cross_entropy", target, "target")
    reduction = resolve_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    _check_probabilities(input)
    losses = -(target * _log(input) + (1 - target) * _log_of_rest(input))
    return reduce_losses(losses if weight is None else losses * weight, reduction)


def _check_probabilities(input: Tensor) -> None:
    if (
        input.numel()
        and not input.is_meta
        and not input._hides_batch()
        and not modes_in_force()  # a trace has no elements
        and getattr(input, "fake_mode", None) is None
        and bool(((input < 0).logical_or(input > 1)).any())
    ):
        raise RuntimeError("all elements of input should be between 0 and 1")


_TINY = 1e-12


def _log(x: Tensor) -> Tensor:
    """The logarithm of `x`, at least -100, with a finite gradient."""
    usual = x > _TINY
    return where(usual, where(usual, x, 1.0).log(), _steep_log(x))


def _log_of_rest(x: Tensor) -> Tensor:
    """The logarithm of `1 - x`, at least -100, with a finite gradient."""
    rest = 1 - x
    usual = rest > _TINY
    return where(usual, (-where(usual, x, 0.0)).log1p(), _steep_log(rest))


def _steep_log(x: Tensor) -> Tensor:
    """The logarithm of numbers close to 0, with the slope it has at `_TINY`."""
    fixed = x.detach()
    return where(fixed > 3.8e-44, fixed.log(), -100.0) + (x - fixed) * (1 / _TINY)


@overridable
@in_float32
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, accurate for scores of any size.

    Args:
        input (Tensor): Scores.
        target (Tensor): Of the same shape, from 0 to 1.
        weight (Tensor, optional): A factor for each element, broadcast.
        size_average, reduce, reduction: See `mse_loss`.
        pos_weight (Tensor, optional): A factor for the part of the target that is 1, broadcast: one for each
            class.

    Raises:
        ValueError: If the shapes differ, or `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.binary_cross_entropy_with_logits(tl_core.zeros(2), tl_core.ones(2))
        tensor(0.6931)
    """
    check_tensor("binary_cross_entropy_with_logits", input)
    check_tensor("binary_cross_entropy_with_logits", target, "target")
    reduction = resolve_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    positive = logsigmoid(input)
    if pos_weight is not None:
        positive = positive * ((pos_weight - 1) * target + 1)
    losses = (1 - target) * input - positive
    return reduce_losses(losses if weight is None else losses * weight, reduction)


def softplus_of_negative(x: Tensor) -> Tensor:
    """`log(1 + exp(-x))`, for numbers of any size."""
    return -logsigmoid(x)


@overridable
@in_float32
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts from Poisson distributions, reduced.

    Args:
        input (Tensor): The expected counts or, with `log_input`, their logarithms.
        target (Tensor): The counts.
        full (bool): Whether Stirling's approximation of the term that doesn't depend on the input is added.
        eps (float): Added to expected counts before the logarithm is taken.
        size_average, reduce, reduction: See `mse_loss`.
        log_input: whether the input is the logarithm of the rate.

    Raises:
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.poisson_nll_loss(tl_core.zeros(2), tl_core.ones(2))
        tensor(1.)
    """
    check_tensor("poisson_nll_loss", input)
    check_tensor("poisson_nll_loss", target, "target")
    reduction = resolve_reduction(size_average, reduce, reduction)
    check(reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        many = target > 1
        count = where(many, target, 2)
        losses = losses + where(many, count * count.log() - count + 0.5 * (2 * pi * count).log(), 0)
    return reduce_losses(losses, reduction)


@overridable
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """`(log var + (input - target)² / var) / 2`, reduced.

    Args:
        input, target (Tensor): Expected values and values.
        var (Tensor or float): Variances: of input's shape, of that without the last dimension, or with size 1 in
            one dimension.
        full (bool): Whether `log(2 pi) / 2` is added.
        eps (float): The least variance. Its gradient is the identity.
        reduction (str): See `mse_loss`.

    Raises:
        ValueError: If `var` has another shape or is negative, or `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.gaussian_nll_loss(tl_core.zeros(2), tl_core.ones(2), 1.0)
        tensor(0.5000)
    """
    check_tensor("gaussian_nll_loss", input)
    check_tensor("gaussian_nll_loss", target, "target")
    if isinstance(var, float):
        var = input.new_full(input.shape, var)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var.dim() != input.dim() or sum(v for v, n in zip(var.shape, input.shape) if v != n) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if not var.is_meta and not is_tensor_subclass_like(var) and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    variance = var + (var.detach().clamp_min(eps) - var.detach())
    off = input - target
    losses = 0.5 * (variance.log() + off * off / variance)
    return reduce_losses(losses + 0.5 * log(2 * pi) if full else losses, reduction)

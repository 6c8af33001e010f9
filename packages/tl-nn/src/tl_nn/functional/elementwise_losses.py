"""Losses of each element by itself."""

import warnings
from collections.abc import Callable
from math import log, pi

from tl_core import Tensor, broadcast_tensors
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.dispatch.keys import is_tensor_subclass_like
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import reduce_losses, reduction_code, resolve_reduction
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
    r"""The squared difference of each element, reduced.

    Formula:
        .. math::

            \ell_n = (x_n - y_n)^{2}

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

        With `weight` `w`, of the shape of the losses, the terms are `w ℓ` and the mean divides by the sum of `w`.

    Args:
        input, target (Tensor): Tensors of equal shape. Other shapes are broadcast, with a warning.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        reduction (str): "none" for the elements, "mean" for their mean, "sum" for their sum.
        weight (Tensor, optional): A factor for each element. The mean is then over the weights.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - A target of another shape is broadcast against the input, with a UserWarning, because the result is rarely
          the intended one.
        - The mean of no elements is NaN, their sum 0.
        - The mean is over all elements, not over samples: for the mean over samples of squared distances, divide
          the sum by the batch size.
        - The target receives a gradient too where it requires one.

    Raises:
        ValueError: If `reduction` is another name.
        RuntimeError: If the shapes can't be broadcast.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.mse_loss(tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape("mse_loss", input, target)
    return _reduce_weighted(nn_functions.mse_loss, input, target, weight, reduction)


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
    r"""The absolute difference of each element, reduced. See `mse_loss` for the arguments.

    Formula:
        .. math::

            \ell_n = |x_n - y_n|

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

        With `weight` `w`, of the shape of the losses, the terms are `w ℓ` and the mean divides by the sum of `w`.

    Args:
        input: the predictions.
        target: the values wanted, of the same or a broadcastable shape.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.
        weight: a factor for each element.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The gradient of an element without a difference is 0. `SmoothL1Loss` has a continuous gradient instead.
        - A target of another shape is broadcast against the input, with a UserWarning, because the result is rarely
          the intended one.
        - The mean of no elements is NaN, their sum 0.
        - Complex input is accepted: the loss is the modulus of the difference. Integer input has no mean and needs
          "sum" or "none".

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.l1_loss(tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape("l1_loss", input, target)
    return _reduce_weighted(nn_functions.l1_loss, input, target, weight, reduction)


def _of_one_shape(loss: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, broadcast, with a warning where shapes differ: one without dimensions then counts in promotion too."""
    check_tensor(loss, input)
    check_tensor(loss, target, "target")
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


def _reduce_weighted(
    loss: Callable[..., Tensor],
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    *options: float,
) -> Tensor:
    if weight is None:
        return loss(input, target, reduction_code(reduction), *options)
    losses = loss(input, target, reduction_code("none"), *options)
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
    r"""`d² / (2 beta)` where the absolute difference `d` is less than `beta`, else `d - beta / 2`.

    Formula:
        .. math::

            \ell_n = \begin{cases} d_n^{2} / (2 \beta) & d_n < \beta \\
            d_n - \beta / 2 & \text{otherwise} \end{cases}
            \qquad d_n = |x_n - y_n|

        `x` is the input, `y` the target, and `n` an element of them. `β` is `beta`. The result is the mean, the sum
        or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input, target, size_average, reduce, reduction: See `mse_loss`.
        beta (float): The end of the parabola. 0 is `l1_loss`.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The gradient is continuous and at most 1 in magnitude, so outliers count less than in `MSELoss`.
        - As `beta` falls, the loss approaches `L1Loss`, and `beta=0` is computed as that loss. `HuberLoss` with
          `delta=beta` is this loss times `beta`.
        - A target of another shape is broadcast against the input, with a UserWarning, because the result is rarely
          the intended one.
        - The mean of no elements is NaN, their sum 0.
        - Source: Girshick, Fast R-CNN, 2015.

    Raises:
        RuntimeError: If `beta` is negative.
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.smooth_l1_loss(tl_core.tensor([0.0, 0.0]), tl_core.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    input, target = _of_one_shape("smooth_l1_loss", input, target)
    return nn_functions.smooth_l1_loss(input, target, reduction_code(reduction), beta)


@overridable
@in_float32
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    r"""`d² / 2` where the absolute difference `d` is at most `delta`, else `delta (d - delta / 2)`.

    Formula:
        .. math::

            \ell_n = \begin{cases} d_n^{2} / 2 & d_n \le \delta \\
            \delta \, (d_n - \delta / 2) & \text{otherwise} \end{cases}
            \qquad d_n = |x_n - y_n|

        `x` is the input, `y` the target, and `n` an element of them. `δ` is `delta`. The result is the mean, the
        sum or the tensor of all `ℓ`, as `reduction` selects.

        With `weight` `w`, of the shape of the losses, the terms are `w ℓ` and the mean divides by the sum of `w`.

    Args:
        input, target, reduction, weight: See `mse_loss`.
        delta (float): Where the parabola ends.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The gradient is continuous and at most `delta` in magnitude. As `delta` grows, the loss approaches half of
          `MSELoss`.
        - A target of another shape is broadcast against the input, with a UserWarning, because the result is rarely
          the intended one.
        - The mean of no elements is NaN, their sum 0.
        - Source: Huber, Robust Estimation of a Location Parameter, 1964.

    Raises:
        RuntimeError: If `delta` isn't positive.
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.huber_loss(tl_core.tensor([0.0, 0.0]), tl_core.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    reduction = resolve_reduction(None, None, reduction)
    input, target = _of_one_shape("huber_loss", input, target)
    return _reduce_weighted(nn_functions.huber_loss, input, target, weight, reduction, delta)


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
    r"""The Kullback-Leibler divergence of the distribution `target` from `input`.

    Formula:
        .. math::

            \ell_n = y_n \, (\ln y_n - x_n)

        `x` contains log-probabilities, `y` probabilities. With `log_target=True` the term is `exp(y) * (y - x)`.
        The sum of all `ℓ` of a sample is its divergence.

    Args:
        input (Tensor): Log-probabilities.
        target (Tensor): Probabilities or, with `log_target`, their logarithms.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        reduction (str): As in `mse_loss`, or "batchmean" for the sum divided by the first size, which is the
            divergence as it is defined.
        log_target (bool): Whether `target` holds logarithms.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - "batchmean" is the mean of the samples' divergences. "mean" also divides by the number of classes, and
          emits a warning.
        - A probability of 0 contributes 0, with a finite gradient, unless `x` is negative infinity there: the
          product is then NaN. A log-probability of negative infinity in a target with `log_target=True` gives NaN.
        - The terms may be negative one by one. Their sum isn't, if both distributions are normalized. Nothing
          checks that.
        - Source: Kullback and Leibler, On Information and Sufficiency, 1951.

    Raises:
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> target = tl_core.tensor([[0.5, 0.5]])
        >>> tl_nn.functional.kl_div(target.log(), target, reduction="batchmean")
        tensor(0.)
    """
    check_tensor("kl_div", input)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if reduction == "batchmean":
        total = nn_functions.kl_div(input, target, reduction_code("sum"), log_target=log_target)
        return total / (input.shape[0] if input.dim() else 1)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=3,
        )
    return nn_functions.kl_div(input, target, reduction_code(reduction), log_target=log_target)


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
    r"""`-(t log p + (1 - t) log(1 - p))` of probabilities `p` and targets `t`, reduced.

    Formula:
        .. math::

            \ell_n = -w_n \, \bigl( y_n \ln x_n + (1 - y_n) \ln(1 - x_n) \bigr)

        `x` contains probabilities, `y` targets from 0 to 1, and `w` is `weight` or 1. The result is the mean, the
        sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input (Tensor): Probabilities, from 0 to 1. Their logarithms are taken as at least -100.
        target (Tensor): Of the same shape, from 0 to 1.
        weight (Tensor, optional): A factor for each element, broadcast.
        size_average, reduce, reduction: See `mse_loss`.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - Logarithms are at least -100, so a confident wrong probability of 0 or 1 costs 100 instead of infinity.
          Gradients are at most 1e12 in magnitude.
        - Prefer `BCEWithLogitsLoss` on scores: a sigmoid rounds to 0 or 1 early, and its gradient vanishes there.
        - The mean divides by the number of elements, not by the sum of the weights.
        - NaN probabilities give NaN. Targets outside of 0 to 1 aren't checked.

    Raises:
        ValueError: If the shapes differ, or `reduction` isn't known.
        RuntimeError: If an input isn't from 0 to 1, or the target has another element type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.binary_cross_entropy(tl_core.tensor([0.5]), tl_core.tensor([1.0]))
        tensor(0.6931)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.binary_cross_entropy(input, target, weight, code)


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
    r"""`binary_cross_entropy` of `sigmoid(input)`, accurate for scores of any size.

    Formula:
        .. math::

            \ell_n = -w_n \, \bigl( p_n \, y_n \ln \sigma(x_n) + (1 - y_n) \ln(1 - \sigma(x_n)) \bigr)

        `x` contains scores, `y` targets from 0 to 1, `σ` is the logistic sigmoid, `w` is `weight` or 1 and `p` is
        `pos_weight` or 1. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input (Tensor): Scores.
        target (Tensor): Of the same shape, from 0 to 1.
        weight (Tensor, optional): A factor for each element, broadcast.
        size_average, reduce, reduction: See `mse_loss`.
        pos_weight (Tensor, optional): A factor for the part of the target that is 1, broadcast: one for each
            class.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The loss is computed as `(1 - y) x - (1 + (p - 1) y) ln σ(x)` with a stable `ln σ`. Finite scores of any
          size give finite losses and gradients. The gradient without weights is `σ(x) - y`.
        - An infinite score gives infinity or NaN.
        - The mean divides by the number of elements, not by the sum of the weights.

    Raises:
        ValueError: If the shapes differ, or `reduction` isn't known.
        RuntimeError: If the target is not floating-point.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.binary_cross_entropy_with_logits(tl_core.zeros(2), tl_core.ones(2))
        tensor(0.6931)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


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
    r"""The negative log-likelihood of counts from Poisson distributions, reduced.

    Formula:
        .. math::

            \ell_n = e^{x_n} - y_n x_n \qquad \text{or} \qquad \ell_n = x_n - y_n \ln(x_n + \mathrm{eps})

        `x` is the logarithm of the rate, or with `log_input=False` the rate, and `y` the count. `full` adds for
        `y > 1`

        .. math::

            y_n \ln y_n - y_n + \tfrac{1}{2} \ln(2 \pi y_n)

        The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input (Tensor): The expected counts or, with `log_input`, their logarithms.
        target (Tensor): The counts.
        full (bool): Whether Stirling's approximation of the term that doesn't depend on the input is added.
        eps (float): Added to expected counts before the logarithm is taken.
        size_average, reduce, reduction: See `mse_loss`.
        log_input: whether the input is the logarithm of the rate.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input or one that broadcasts with it.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The added term doesn't depend on the input and changes no gradient.
        - The logarithm of the rate is the stabler input: it needs no positive numbers and no `eps`. It overflows
          float32 above 88.
        - Counts needn't be integers. Negative rates give NaN.

    Raises:
        ValueError: If `reduction` isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.poisson_nll_loss(tl_core.zeros(2), tl_core.ones(2))
        tensor(1.)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.poisson_nll_loss(input, target, log_input, full, eps, code)


@overridable
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    r"""`(log var + (input - target)² / var) / 2`, reduced.

    Formula:
        .. math::

            \ell_n = \frac{1}{2} \left( \ln v_n + \frac{(x_n - y_n)^{2}}{v_n} \right), \qquad
            v_n = \max(\mathrm{var}_n, \mathrm{eps})

        `x` is the predicted mean, `y` the value, and `var` the predicted variance. The result is the mean, the sum
        or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input, target (Tensor): Expected values and values.
        var (Tensor or float): Variances: of input's shape, of that without the last dimension, or with size 1 in
            one dimension.
        full (bool): Whether `log(2 pi) / 2` is added.
        eps (float): The least variance. Its gradient is the identity.
        reduction (str): See `mse_loss`.

    Shape:
        - Input: `(N, *)` or `(*)`.
        - Target: the shape of the input, or one that broadcasts with it.
        - Variance: the shape of the input, that shape with size 1 in one dimension or without the last dimension,
          or one number.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Notes:
        - The gradient ignores the bound `eps`: a variance below it still receives the gradient at the bound, so it
          can grow.
        - A variance is no standard deviation: `exp` of a network's output is a usual source, and keeps it positive.
        - Source: Nix and Weigend, Estimating the Mean and Variance of the Target Probability Distribution, 1994.

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

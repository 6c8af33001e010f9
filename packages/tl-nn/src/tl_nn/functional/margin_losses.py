"""Losses that ask for a margin between scores or distances."""

from collections.abc import Callable

import tl_core
from tl_core import Tensor
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import check, reduce_losses, reduction_code, resolve_reduction
from .checks import check_tensor
from .distances import pairwise_distance
from .elementwise_losses import softplus_of_negative

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


@overridable
@in_float32
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""`max(0, -target * (input1 - input2) + margin)`, reduced. Target 1 requires a larger `input1`, -1 a smaller.

    Formula:
        .. math::

            \ell_n = \max\bigl(0, -y_n (x_{1, n} - x_{2, n}) + \mathrm{margin}\bigr)

        `x_1` and `x_2` are the inputs. The target `y` is 1 where the first is to be the larger one, -1 where the
        second is. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input1: the first values.
        input2: the second values, of a broadcastable shape.
        target: 1 where the first is to be larger, -1 where the second is.
        margin: by how much.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Inputs: `(*)`, of the same number of dimensions.
        - Target: `(*)`, of that number of dimensions, 1 or -1.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - At the kink, where the two terms sum to 0, the derivative is that of the term. Equal inputs with the
          default margin are pushed apart.
        - Sizes of 1 are broadcast.

    Raises:
        ValueError: If `reduction` isn't "none", "mean" or "sum".
        RuntimeError: If the inputs differ in the number of dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> one, two = tl_core.tensor([1.0]), tl_core.tensor([2.0])
        >>> tl_nn.functional.margin_ranking_loss(one, two, tl_core.tensor([1.0]), margin=0.5)
        tensor(1.5000)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.margin_ranking_loss(input1, input2, target, margin, code)


@overridable
@in_float32
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The distance where the target is 1, `max(0, margin - distance)` where it is -1, reduced.

    Formula:
        .. math::

            \ell_n = \begin{cases} x_n & y_n = 1 \\ \max(0, \mathrm{margin} - x_n) & y_n = -1 \end{cases}

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

    Args:
        input: the distances.
        target: 1 or -1 for each.
        margin: how far apart pairs with -1 are to be.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The input contains distances, as of `PairwiseDistance`. Negative numbers give negative losses for `y = 1`.
        - Targets other than 1 and -1 aren't refused: both terms are added.
        - The derivative at `x = margin` is -1.
        - Source: Hadsell, Chopra and LeCun, Dimensionality Reduction by Learning an Invariant Mapping, 2006.

    Example:
        >>> import tl_core, tl_nn
        >>> x = tl_core.tensor([0.25, 0.25])
        >>> tl_nn.functional.hinge_embedding_loss(x, tl_core.tensor([1, -1]), reduction="none")
        tensor([0.2500, 0.7500])
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.hinge_embedding_loss(input, target, margin, code)


@overridable
@in_float32
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""`1 - cos` where the target is 1, `max(0, cos - margin)` where it is -1, reduced.

    Formula:
        .. math::

            \ell = \begin{cases} 1 - \cos(x_1, x_2) & y = 1 \\ \max(0, \cos(x_1, x_2) - \mathrm{margin}) & y =
            -1 \end{cases}

        `x_1` and `x_2` are the vectors of a pair and `y` is its target. The result is the mean, the sum or the
        tensor of all `ℓ`, as `reduction` selects.

    Args:
        input1, input2 (Tensor, shape (N, D) or (D,)): The pairs of vectors.
        target (Tensor, shape (N,) or ()): 1 for pairs that belong together, -1 for others.
        margin: the similarity that pairs with -1 may have, from -1 to 1.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Inputs: `(N, D)` or `(D,)`.
        - Target: `(N,)` or `()`, 1 or -1.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Notes:
        - 1e-12 is added to squared lengths: a vector of zeros has cosine 0 and a finite gradient.
        - A pair with another target than 1 and -1 has loss 0.

    Raises:
        RuntimeError: If target does not have one dimension less than the inputs.

    Example:
        >>> import tl_core, tl_nn
        >>> x, y = tl_core.tensor([[3.0, 4.0]]), tl_core.tensor([[1.0, 0.0]])
        >>> tl_nn.functional.cosine_embedding_loss(x, y, tl_core.tensor([1]))
        tensor(0.4000)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.cosine_embedding_loss(input1, input2, target, margin, code)


@overridable
@in_float32
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""`log(1 + exp(-target * input))` for targets 1 and -1, reduced.

    Formula:
        .. math::

            \ell_n = \ln\bigl(1 + e^{-y_n x_n}\bigr)

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

    Args:
        input: the scores.
        target: 1 or -1 for each.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The loss is `BCEWithLogitsLoss` with targets -1 and 1 instead of 0 and 1. It is computed as `-ln σ(y x)`,
          finite for finite scores of any size.
        - Other targets aren't refused: they scale the score.
        - The mean of no elements is NaN, their sum 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.soft_margin_loss(tl_core.zeros(2), tl_core.ones(2))
        tensor(0.6931)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.soft_margin_loss(input, target, code)


@overridable
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The mean over the classes of the binary cross entropy of `sigmoid(input)`, then reduced.

    Formula:
        .. math::

            \ell = -\frac{1}{C} \sum_{c=1}^{C} w_c \, \bigl( y_c \ln \sigma(x_c) +
            (1 - y_c) \ln(1 - \sigma(x_c)) \bigr)

        `x` contains the scores of a sample's C classes, `y` is 1 for the classes that apply and 0 for others, `w`
        is `weight` or 1, and `σ` the logistic sigmoid. The result is the mean, the sum or the tensor of all `ℓ`, as
        `reduction` selects.

    Args:
        input, target (Tensor, shape (*, C)): The scores, and 1 for the classes that apply, 0 for others.
        weight (Tensor, shape (C,), optional): A factor for each class.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Input: `(N, C)`, or `(*, C)`.
        - Target: the shape of the input.
        - Output: `()`, or `(N,)` or `(*)` with `reduction="none"`.

    Notes:
        - Finite scores of any size give finite losses. `BCEWithLogitsLoss` is the same loss before the mean over
          classes.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.multilabel_soft_margin_loss(tl_core.zeros(1, 2), tl_core.ones(1, 2))
        tensor(0.6931)
    """
    check_tensor("multilabel_soft_margin_loss", input)
    reduction = _valid_reduction(size_average, reduce, reduction)
    losses = target * softplus_of_negative(input) + (1 - target) * softplus_of_negative(-input)
    if weight is not None:
        losses = losses * weight
    return reduce_losses(losses.sum(-1) / input.size(-1), reduction)


@overridable
@in_float32
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The sum over the other classes of `max(0, margin - x[y] + x[i]) ** p`, divided by the number of classes.

    Formula:
        .. math::

            \ell = \frac{w_y}{C} \sum_{i \ne y} \max(0, \mathrm{margin} - x_y + x_i)^{p}

        `x` contains the scores of a sample's C classes, `y` is the target class, `w` is `weight` or 1. The result
        is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input (Tensor, shape (N, C) or (C,)): The scores of the classes.
        target (Tensor of int64, shape (N,) or ()): The class of each sample.
        p (int): 1 or 2.
        margin (float): The required distance of the target's score to all other scores.
        weight (Tensor, shape (C,), optional): A factor for the samples of each class.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Input: `(N, C)` or `(C,)`.
        - Target: `(N,)` or `()`, int64 from 0 to C - 1.
        - Output: `()`, or `(N,)` or `()` with `reduction="none"`.

    Notes:
        - The mean divides by the number of samples, not by the sum of the weights. The mean of an empty batch is 0.
        - Source: Crammer and Singer, On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines,
          2001, who take the largest term instead of the sum.

    Raises:
        ValueError: If `p` or `reduction` is something else, or `weight` isn't a vector.
        RuntimeError: If the shapes or types don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.multi_margin_loss(tl_core.tensor([[0.5, 0.25]]), tl_core.tensor([0]))
        tensor(0.3750)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.multi_margin_loss(input, target, p, margin, weight, code)


_PAIRS = 1 << 16


@overridable
@in_float32
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The sum of `max(0, 1 - (x[y] - x[i]))` over target classes `y` and others `i`, by the number of classes.

    Formula:
        .. math::

            \ell = \frac{1}{C} \sum_{j \in Y} \sum_{i \notin Y} \max\bigl(0, 1 - (x_j - x_i)\bigr)

        `x` contains the scores of a sample's C classes. `Y` are the target classes: the elements of the target
        before the first -1. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        input (Tensor, shape (N, C) or (C,)): The scores of the classes.
        target (Tensor of int64, with input's shape): The classes of each sample, ended by the first -1.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Input: `(N, C)` or `(C,)`.
        - Target: the shape of the input, int64. Each row lists classes and ends with -1, unless it lists C classes.
        - Output: `()`, or `(N,)` or `()` with `reduction="none"`.

    Notes:
        - Samples may have different numbers of classes. Elements after the first -1 are ignored.
        - The mean of an empty batch is 0.

    Raises:
        RuntimeError: If the shapes or types don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> x, y = tl_core.tensor([[0.5, 0.25]]), tl_core.tensor([[0, -1]])
        >>> tl_nn.functional.multilabel_margin_loss(x, y)
        tensor(0.3750)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.multilabel_margin_loss(input, target, code)


@overridable
@in_float32
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""`max(0, |anchor - positive| - |anchor - negative| + margin)`, reduced.

    Formula:
        .. math::

            \ell = \max\bigl(0, d(a, p) - d(a, n) + \mathrm{margin}\bigr), \qquad
            d(u, v) = \lVert u - v + \mathrm{eps} \rVert_p

        `a`, `p` and `n` are the anchor, the positive and the negative vector. The result is the mean, the sum or
        the tensor of all `ℓ`, as `reduction` selects.

    Args:
        anchor, positive, negative (Tensor, shape (*, D)): Vectors; the first is to be
            nearer to the second than to the third.
        margin (float): Greater than 0.
        p, eps: Of `pairwise_distance`.
        swap (bool): Whether the negative may be the positive's instead, where it is nearer.
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Anchor, positive, negative: `(N, D)`, `(D,)` or `(*, D)`.
        - Output: `()`, or `(N,)`, `()` or `(*)` with `reduction="none"`.

    Notes:
        - With `swap`, the smaller of `d(a, n)` and `d(p, n)` counts as the negative's distance, which makes more
          triplets hard.
        - A triplet that satisfies the margin has loss and gradient 0.
        - Source: Balntas et al., Learning Shallow Convolutional Feature Descriptors with Triplet Losses, 2016.
          Schroff et al., FaceNet, 2015.

    Raises:
        ValueError: If `margin` isn't positive, or `reduction` isn't known.
        RuntimeError: If the numbers of dimensions differ.

    Example:
        >>> import tl_core, tl_nn
        >>> a = tl_core.zeros(1, 2)
        >>> tl_nn.functional.triplet_margin_loss(a, a, a, eps=0.0)
        tensor(1.)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    _check_triplet(anchor, positive, negative, margin)
    return nn_functions.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""`triplet_margin_loss` with any distance, by default `pairwise_distance`.

    Formula:
        .. math::

            \ell = \max\bigl(0, d(a, p) - d(a, n) + \mathrm{margin}\bigr)

        `a`, `p` and `n` are the anchor, the positive and the negative vector, `d` is `distance_function`. The
        result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        anchor: the vectors that distances are measured from.
        positive: vectors to be near.
        negative: vectors to be far.
        distance_function: the distance of two tensors of vectors. None for `pairwise_distance`.
        margin: by how much the negative is to be farther.
        swap: whether the distance of positive and negative is used where it is less than that of anchor and
            negative.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

    Shape:
        - Anchor, positive, negative: any shapes that the distance accepts, of the same number of dimensions.
        - Output: `()`, or the shape of the distances with `reduction="none"`.

    Notes:
        - With `swap`, the smaller of `d(a, n)` and `d(p, n)` counts as the negative's distance, which makes more
          triplets hard.
        - A triplet that satisfies the margin has loss and gradient 0.
        - Cosine distance, `1 - cosine_similarity`, is a usual choice. The loss only asks for a differentiable
          function.

    Example:
        >>> import tl_core, tl_nn
        >>> a, f = tl_core.zeros(1, 2), lambda x, y: (x - y).abs().sum(-1)
        >>> tl_nn.functional.triplet_margin_with_distance_loss(a, a, a + 1, distance_function=f, margin=3.0)
        tensor(1.)
    """
    check(reduction)
    _check_triplet(anchor, positive, negative, margin)
    return _triplet(
        anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction
    )


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> None:
    for name, t in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        check_tensor("triplet_margin_loss", t, name)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = tl_core.minimum(far, distance(positive, negative))
    return reduce_losses((margin + near - far).clamp_min(0), reduction)


def _valid_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    reduction = resolve_reduction(size_average, reduce, reduction)
    check(reduction)
    return reduction

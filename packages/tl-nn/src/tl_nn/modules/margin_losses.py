"""Losses of margins as modules: scores of classes, distances of pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

from .. import functional as F
from .base_loss import _Loss, _weight, _WeightedLoss
from .distance import PairwiseDistance

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class SoftMarginLoss(_Loss):
    r"""The logistic loss of scores for targets of 1 and -1, reduced.

    Formula:
        .. math::

            \ell_n = \ln\bigl(1 + e^{-y_n x_n}\bigr)

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

    Args:
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The loss is `BCEWithLogitsLoss` with targets -1 and 1 instead of 0 and 1. It is computed as `-ln σ(y x)`,
          finite for finite scores of any size.
        - Other targets aren't refused: they scale the score.
        - The mean of no elements is NaN, their sum 0.

    Raises:
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SoftMarginLoss(reduction="none")(tl_core.tensor([2.0, 2.0]), tl_core.tensor([1.0, -1.0]))
        tensor([0.1269, 2.1269])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    r"""The hinge loss of several target classes against all other classes of a sample, reduced.

    Formula:
        .. math::

            \ell = \frac{1}{C} \sum_{j \in Y} \sum_{i \notin Y} \max\bigl(0, 1 - (x_j - x_i)\bigr)

        `x` contains the scores of a sample's C classes. `Y` are the target classes: the elements of the target
        before the first -1. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C)` or `(C,)`.
        - Target: the shape of the input, int64. Each row lists classes and ends with -1, unless it lists C classes.
        - Output: `()`, or `(N,)` or `()` with `reduction="none"`.

    Notes:
        - Samples may have different numbers of classes. Elements after the first -1 are ignored.
        - The mean of an empty batch is 0.

    Raises:
        RuntimeError: If the shapes differ, the target isn't int64, or a target isn't a class.
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> scores, labels = tl_core.tensor([[0.1, 0.8, 0.4]]), tl_core.tensor([[1, -1, 0]])
        >>> tl_nn.MultiLabelMarginLoss()(scores, labels)
        tensor(0.3000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores, shape (N, C) or (C,), for lists of classes, which end with -1, of that shape."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    r"""The mean binary cross entropy of the scores of all classes of a sample, reduced.

    Formula:
        .. math::

            \ell = -\frac{1}{C} \sum_{c=1}^{C} w_c \, \bigl( y_c \ln \sigma(x_c) +
            (1 - y_c) \ln(1 - \sigma(x_c)) \bigr)

        `x` contains the scores of a sample's C classes, `y` is 1 for the classes that apply and 0 for others, `w`
        is `weight` or 1, and `σ` the logistic sigmoid. The result is the mean, the sum or the tensor of all `ℓ`, as
        `reduction` selects.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class. The loss stores it as a buffer.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C)`, or `(*, C)`.
        - Target: the shape of the input.
        - Output: `()`, or `(N,)` or `(*)` with `reduction="none"`.

    Notes:
        - Finite scores of any size give finite losses. `BCEWithLogitsLoss` is the same loss before the mean over
          classes.

    Raises:
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MultiLabelSoftMarginLoss()(tl_core.tensor([[2.0, -2.0]]), tl_core.tensor([[1.0, 0.0]]))
        tensor(0.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores, shape (N, C), for targets of 0 and 1 of that shape."""
        return F.multilabel_soft_margin_loss(input, target, weight=_weight(self), reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    r"""The hinge loss of the target class against all other classes, reduced.

    Formula:
        .. math::

            \ell = \frac{w_y}{C} \sum_{i \ne y} \max(0, \mathrm{margin} - x_y + x_i)^{p}

        `x` contains the scores of a sample's C classes, `y` is the target class, `w` is `weight` or 1. The result
        is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        p (int): The exponent, 1 or 2. The default is 1.
        margin (float): The required distance of the target's score to the others. The default is 1.
        weight (Tensor, shape (C,), optional): A factor for the samples of each class. The loss stores it as a
            buffer.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C)` or `(C,)`.
        - Target: `(N,)` or `()`, int64 from 0 to C - 1.
        - Output: `()`, or `(N,)` or `()` with `reduction="none"`.

    Notes:
        - The mean divides by the number of samples, not by the sum of the weights. The mean of an empty batch is 0.
        - Source: Crammer and Singer, On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines,
          2001, who take the largest term instead of the sum.

    Raises:
        ValueError: If `p` or `reduction` is something else.
        AssertionError: If `weight` isn't a vector.
        RuntimeError: If the shapes don't fit, the target isn't int64, or a target isn't a class.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MultiMarginLoss()(tl_core.tensor([[0.1, 0.8, 0.4]]), tl_core.tensor([1]))
        tensor(0.3000)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise AssertionError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores, shape (N, C) or (C,), for classes, shape (N,) or ()."""
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=_weight(self), reduction=self.reduction
        )


class _MarginLoss(_Loss):
    """A loss with a margin.

    Args:
        margin (float): The margin.
        size_average, reduce, reduction: See `L1Loss`.
    """

    __constants__ = ["margin", "reduction"]
    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    r"""The distance of similar pairs, and the rest of the distance to a margin for dissimilar pairs, reduced.

    Formula:
        .. math::

            \ell_n = \begin{cases} x_n & y_n = 1 \\ \max(0, \mathrm{margin} - x_n) & y_n = -1 \end{cases}

        `x` is the input, `y` the target, and `n` an element of them. The result is the mean, the sum or the tensor
        of all `ℓ`, as `reduction` selects.

    Args:
        margin (float): The distance from which on a dissimilar pair costs nothing. The default is 1.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - The input contains distances, as of `PairwiseDistance`. Negative numbers give negative losses for `y = 1`.
        - Targets other than 1 and -1 aren't refused: both terms are added.
        - The derivative at `x = margin` is -1.
        - Source: Hadsell, Chopra and LeCun, Dimensionality Reduction by Learning an Invariant Mapping, 2006.

    Raises:
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> distance, same = tl_core.tensor([0.3, 0.3]), tl_core.tensor([1.0, -1.0])
        >>> tl_nn.HingeEmbeddingLoss(reduction="none")(distance, same)
        tensor([0.3000, 0.7000])
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of distances for targets of the same shape."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    r"""The loss of the angle between the vectors of similar and of dissimilar pairs, reduced.

    Formula:
        .. math::

            \ell = \begin{cases} 1 - \cos(x_1, x_2) & y = 1 \\ \max(0, \cos(x_1, x_2) - \mathrm{margin}) & y =
            -1 \end{cases}

        `x_1` and `x_2` are the vectors of a pair and `y` is its target. The result is the mean, the sum or the
        tensor of all `ℓ`, as `reduction` selects.

    Args:
        margin (float): The cosine, from -1 to 1, up to which a dissimilar pair costs nothing. The default is 0.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each pair.
            The default is "mean".

    Shape:
        - Inputs: `(N, D)` or `(D,)`.
        - Target: `(N,)` or `()`, 1 or -1.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Notes:
        - 1e-12 is added to squared lengths: a vector of zeros has cosine 0 and a finite gradient.
        - A pair with another target than 1 and -1 has loss 0.

    Raises:
        RuntimeError: If the target doesn't have one dimension less than the inputs.
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> x, y = tl_core.tensor([[1.0, 0.0], [1.0, 0.0]]), tl_core.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> tl_nn.CosineEmbeddingLoss(reduction="none")(x, y, tl_core.tensor([1.0, -1.0]))
        tensor([1., 1.])
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss of vectors, shape (N, D) or (D,), for targets of 1 and -1, shape (N,) or ()."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    r"""The loss of pairs of numbers in the wrong order, reduced.

    Formula:
        .. math::

            \ell_n = \max\bigl(0, -y_n (x_{1, n} - x_{2, n}) + \mathrm{margin}\bigr)

        `x_1` and `x_2` are the inputs. The target `y` is 1 where the first is to be the larger one, -1 where the
        second is. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        margin (float): The difference from which on a pair in the right order costs nothing. The default is 0.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each pair.
            The default is "mean".

    Shape:
        - Inputs: `(*)`, of the same number of dimensions.
        - Target: `(*)`, of that number of dimensions, 1 or -1.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Notes:
        - At the kink, where the two terms sum to 0, the derivative is that of the term. Equal inputs with the
          default margin are pushed apart.
        - Sizes of 1 are broadcast.

    Raises:
        RuntimeError: If the numbers of dimensions differ.
        ValueError: If `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> first, second = tl_core.tensor([2.0, 1.0]), tl_core.tensor([1.0, 2.0])
        >>> tl_nn.MarginRankingLoss(margin=0.5, reduction="none")(first, second, tl_core.tensor([1.0, 1.0]))
        tensor([0.0000, 1.5000])
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss for targets of 1, where the first should be the larger one, and -1, of the same shape."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    r"""The loss of anchors that are not nearer to a positive than to a negative vector by a margin, reduced.

    Formula:
        .. math::

            \ell = \max\bigl(0, d(a, p) - d(a, n) + \mathrm{margin}\bigr), \qquad
            d(u, v) = \lVert u - v + \mathrm{eps} \rVert_p

        `a`, `p` and `n` are the anchor, the positive and the negative vector. The result is the mean, the sum or
        the tensor of all `ℓ`, as `reduction` selects.

    Args:
        margin (float): The required difference of the two distances, above 0. The default is 1.
        p (float): The exponent of the distance. The default is 2.
        eps (float): The summand of each difference, against infinite gradients. The default is 1e-6.
        swap (bool): Whether the distance of positive and negative counts if it is less than that of anchor and
            negative. The default is False.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            triplet. The default is "mean".

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
        ValueError: If `margin` isn't positive, or `reduction` is another name.
        RuntimeError: If the numbers of dimensions differ.

    Example:
        >>> import tl_core, tl_nn
        >>> anchor, near, far = (tl_core.tensor([[x]]) for x in (0.0, 1.0, 1.5))
        >>> tl_nn.TripletMarginLoss(margin=1.0)(anchor, near, far)
        tensor(0.5000)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_triplet_margin("TripletMarginLoss", margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of three tensors of shape (N, D) or (D,)."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    r"""`TripletMarginLoss` with any distance, reduced.

    Formula:
        .. math::

            \ell = \max\bigl(0, d(a, p) - d(a, n) + \mathrm{margin}\bigr)

        `a`, `p` and `n` are the anchor, the positive and the negative vector, `d` is `distance_function`. The
        result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        distance_function (callable, optional): Returns the distances of two tensors, one for each pair of vectors.
            None selects `PairwiseDistance`.
        margin (float): The required difference of the two distances, above 0. The default is 1.
        swap (bool): Whether the distance of positive and negative counts if it is less than that of anchor and
            negative. The default is False.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            triplet. The default is "mean".

    Shape:
        - Anchor, positive, negative: any shapes that the distance accepts, of the same number of dimensions.
        - Output: `()`, or the shape of the distances with `reduction="none"`.

    Notes:
        - With `swap`, the smaller of `d(a, n)` and `d(p, n)` counts as the negative's distance, which makes more
          triplets hard.
        - A triplet that satisfies the margin has loss and gradient 0.
        - Cosine distance, `1 - cosine_similarity`, is a usual choice. The loss only asks for a differentiable
          function.

    Raises:
        ValueError: If `margin` isn't positive, or `reduction` is another name.
        RuntimeError: If the numbers of dimensions differ.

    Example:
        >>> import tl_core, tl_nn
        >>> def distance(x, y):
        ...     return (x - y).abs().sum(-1)
        ...
        >>> anchor, near, far = (tl_core.tensor([[x, x]]) for x in (0.0, 1.0, 2.0))
        >>> tl_nn.TripletMarginWithDistanceLoss(distance_function=distance, margin=3.0)(anchor, near, far)
        tensor(1.)
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_triplet_margin("TripletMarginWithDistanceLoss", margin)
        self.distance_function: Any = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of three tensors that the distance takes."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_triplet_margin(name: str, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")

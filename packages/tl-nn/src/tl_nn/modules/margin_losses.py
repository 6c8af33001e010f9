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
    """`log(1 + exp(-target * input))` for targets of 1 and -1. See `soft_margin_loss`.

    Args:
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SoftMarginLoss(reduction="none")(tl_core.tensor([2.0, 2.0]), tl_core.tensor([1.0, -1.0]))
        tensor([0.1269, 2.1269])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The margin loss of several target classes against all other classes. See `multilabel_margin_loss`.

    Args:
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each sample.

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
    """The mean binary cross entropy of the scores of all classes. See `multilabel_soft_margin_loss`.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MultiLabelSoftMarginLoss()(tl_core.tensor([[2.0, -2.0]]), tl_core.tensor([[1.0, 0.0]]))
        tensor(0.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores, shape (N, C), for targets of 0 and 1 of that shape."""
        return F.multilabel_soft_margin_loss(input, target, weight=_weight(self), reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The margin loss of the target class against all other classes. See `multi_margin_loss`.

    Args:
        p (int): The exponent, 1 or 2.
        margin (float): The distance from which on a class is far enough.
        weight (Tensor, shape (C,), optional): A factor for each class.
        size_average, reduce, reduction: See `L1Loss`.

    Raises:
        ValueError: If `p` is another number.
        AssertionError: If `weight` isn't a vector.

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
    """Distances for targets of 1, and the rest to a margin for targets of -1. See `hinge_embedding_loss`.

    Args:
        margin (float): The distance from which on a pair is far enough.
        size_average, reduce, reduction: See `L1Loss`.

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
    """The loss of the similarity of pairs of vectors. See `cosine_embedding_loss`.

    Args:
        margin (float): The cosine, from -1 to 1, below which a pair is different enough.
        size_average, reduce, reduction: See `L1Loss`.

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
    """The loss of the order of two numbers. See `margin_ranking_loss`.

    Args:
        margin (float): By how much it should.
        size_average, reduce, reduction: See `L1Loss`.

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
    """The loss of anchors that are nearer to the negative vector than to the positive one. See `triplet_margin_loss`.

    Args:
        margin (float): By how much they should be nearer.
        p (float): The exponent of the distance.
        eps (float): Added to differences, against infinite gradients.
        swap (bool): Whether the negative's distance to the positive counts if it is the smaller one.
        size_average, reduce, reduction: See `L1Loss`.

    Raises:
        ValueError: If `margin` isn't positive.

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
    """`TripletMarginLoss` with any distance. See `triplet_margin_with_distance_loss`.

    Args:
        distance_function (callable, optional): Returns the distances of two tensors, by default of
            `PairwiseDistance`.
        margin (float): By how much anchors should be nearer to the positive.
        swap (bool): Whether the negative's distance to the positive counts if it is the smaller one.
        reduction (str): "none", "mean" or "sum".

    Raises:
        ValueError: If `margin` isn't positive.

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

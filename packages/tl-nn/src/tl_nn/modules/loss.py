"""Losses as modules."""

from __future__ import annotations

import warnings

from tl_core import Tensor

from .. import functional as F
from .base_loss import _Loss, _weight, _WeightedLoss

# Their documented path is here.
from .margin_losses import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class L1Loss(_Loss):
    """The absolute difference of each element. See `tl_nn.functional.l1_loss`.

    Args:
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.L1Loss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of each element. See `tl_nn.functional.mse_loss`.

    Args:
        size_average: deprecated, with `reduce`: whether losses are averaged.
        reduce: deprecated: whether losses are reduced at all.
        reduction: "mean", "sum" or "none", which leaves a loss for each element.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MSELoss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """A parabola for small differences, straight lines for large ones. See `smooth_l1_loss`.

    Args:
        beta (float): Where the parabola ends.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.SmoothL1Loss(reduction="none")(tl_core.tensor([0.5, 3.0]), tl_core.zeros(2))
        tensor([0.1250, 2.5000])
    """

    beta: float

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """A parabola for small differences, straight lines for large ones. See `huber_loss`.

    Args:
        reduction (str): "none", "mean" or "sum".
        delta (float): Where the parabola ends.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.HuberLoss(reduction="none", delta=2.0)(tl_core.tensor([1.0, 5.0]), tl_core.zeros(2))
        tensor([0.5000, 8.0000])
    """

    __constants__ = ["reduction", "delta"]
    delta: float

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence. See `tl_nn.functional.kl_div`.

    Args:
        log_target (bool): Whether the target holds logarithms.
        size_average, reduce, reduction: See `L1Loss`. The reduction may also be "batchmean".

    Example:
        >>> import tl_core, tl_nn
        >>> log_p = tl_core.tensor([[0.5, 0.5]]).log()
        >>> tl_nn.KLDivLoss(reduction="batchmean")(log_p, tl_core.tensor([[0.25, 0.75]]))
        tensor(0.1308)
    """

    __constants__ = ["reduction"]
    log_target: bool

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The divergence of the distribution `target` from log-probabilities, of the same shape."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities. See `tl_nn.functional.binary_cross_entropy`.

    Args:
        weight (Tensor, optional): A factor for each element, broadcast.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.BCELoss()(tl_core.tensor([0.9, 0.2]), tl_core.tensor([1.0, 0.0]))
        tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of probabilities for targets from 0 to 1, of the same shape."""
        return F.binary_cross_entropy(input, target, weight=_weight(self), reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of scores. See `binary_cross_entropy_with_logits`.

    Args:
        weight (Tensor, optional): A factor for each element, broadcast.
        pos_weight (Tensor, optional): A factor for the part of the target that is 1, broadcast: one for each
            class.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> rare = tl_nn.BCEWithLogitsLoss(pos_weight=tl_core.tensor(3.0))
        >>> rare(tl_core.tensor([0.0, 0.0]), tl_core.tensor([1.0, 0.0]))
        tensor(1.3863)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores for targets from 0 to 1, of the same shape."""
        return F.binary_cross_entropy_with_logits(
            input, target, _weight(self), pos_weight=self.pos_weight, reduction=self.reduction
        )


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of classes. See `tl_nn.functional.nll_loss`.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class.
        ignore_index (int): Targets of this value are ignored.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> scores = tl_core.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> tl_nn.NLLLoss(reduction="sum")(scores, tl_core.tensor([1, 1]))
        tensor(1.2500)
    """

    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of log-probabilities, shape (N, C, ...), for classes, shape (N, ...)."""
        return F.nll_loss(
            input, target, weight=_weight(self), ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """Deprecated: `NLLLoss`, which takes scores of any number of dimensions.

    Example:
        >>> import tl_core, tl_nn, warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     loss = tl_nn.NLLLoss2d()
        >>> loss(tl_core.zeros(1, 2, 1, 1), tl_core.zeros(1, 1, 1, dtype=tl_core.int64))
        tensor(0.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of scores. See `tl_nn.functional.cross_entropy`.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class.
        ignore_index (int): Targets of this value are ignored.
        label_smoothing (float): From 0 to 1: how much of each target is spread evenly over all classes.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CrossEntropyLoss()(tl_core.zeros(3, 2), tl_core.tensor([0, 1, 1]))
        tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of scores, shape (N, C, ...), for classes, shape (N, ...), or for probabilities."""
        return F.cross_entropy(
            input,
            target,
            weight=_weight(self),
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions. See `poisson_nll_loss`.

    Args:
        log_input (bool): Whether the input is the logarithm of the rate.
        full (bool): Whether Stirling's approximation of the constant part is added.
        eps (float): Added to a rate, against the logarithm of 0.
        size_average, reduce, reduction: See `L1Loss`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.PoissonNLLLoss(log_input=False)(tl_core.tensor([2.0]), tl_core.tensor([3.0]))
        tensor(-0.0794)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss of rates, or their logarithms, for counts of the same shape."""
        return F.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under normal distributions. See `gaussian_nll_loss`.

    Args:
        full (bool): Whether the constant part is added.
        eps (float): The smallest variance.
        reduction (str): "none", "mean" or "sum".

    Example:
        >>> import tl_core, tl_nn
        >>> mean, target, var = tl_core.tensor([1.0]), tl_core.tensor([3.0]), tl_core.tensor([4.0])
        >>> tl_nn.GaussianNLLLoss()(mean, target, var)
        tensor(1.1931)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss of means, shape (N, *), for a target, with variances of shape (N, *), (N, 1) or one number."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(_Loss):
    """The loss of an alignment of labels with a longer sequence. See `ctc_loss`.

    Args:
        blank (int): The label of no label.
        reduction (str): "none", "mean" or "sum". The mean is over losses divided by the lengths of their targets.
        zero_infinity (bool): Whether infinite losses, of targets that are too long, become 0.

    Example:
        >>> import tl_core, tl_nn
        >>> log_probs = tl_core.full((5, 1, 4), 0.25).log()
        >>> loss = tl_nn.CTCLoss()(log_probs, tl_core.tensor([[1, 2]]), tl_core.tensor([5]), tl_core.tensor([2]))
        >>> loss
        tensor(1.6881)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        """The loss of log-probabilities, shape (T, N, C) or (T, C), for labels, shape (N, S) or (sum of lengths,)."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )

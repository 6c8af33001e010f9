"""Losses as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core import Tensor

from .. import functional as F
from .._reduction import chosen
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """What all losses share: the reduction.

    Parameters:
        size_average, reduce : bool, optional
            Older spellings of `reduction`.
        reduction : str
            "none", "mean" or "sum".
    """

    __constants__: ClassVar[list[str]] = ["reduction"]
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = chosen(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a factor for each class, which moves with the module as the buffer `weight`."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _weight(loss: Any) -> Tensor | None:
    """The buffer `weight`, ten times as fast as the attribute."""
    own = loss._buffers
    return own["weight"] if "weight" in own else loss.weight  # noqa: SIM401 - get() would ask for the attribute


class L1Loss(_Loss):
    """The absolute difference of each element; see `tl_nn.functional.l1_loss`.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.L1Loss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of each element; see `tl_nn.functional.mse_loss`.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.MSELoss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """A parabola for small differences, straight lines for large ones; see `smooth_l1_loss`.

    Parameters:
        beta : float
            Where the parabola ends.
        size_average, reduce, reduction
            See `L1Loss`.
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
    """A parabola for small differences, straight lines for large ones; see `huber_loss`.

    Parameters:
        reduction : str
            "none", "mean" or "sum".
        delta : float
            Where the parabola ends.
    """

    __constants__: ClassVar[list[str]] = ["reduction", "delta"]
    delta: float

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence; see `tl_nn.functional.kl_div`.

    Parameters:
        log_target : bool
            Whether the target holds logarithms.
        size_average, reduce, reduction
            See `L1Loss`; the reduction may also be "batchmean".
    """

    __constants__: ClassVar[list[str]] = ["reduction"]
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
    """The binary cross entropy of probabilities; see `tl_nn.functional.binary_cross_entropy`.

    Parameters:
        weight : Tensor, optional
            A factor for each element, broadcast.
        size_average, reduce, reduction
            See `L1Loss`.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of probabilities for targets from 0 to 1, of the same shape."""
        return F.binary_cross_entropy(input, target, weight=_weight(self), reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of scores; see `binary_cross_entropy_with_logits`.

    Parameters:
        weight : Tensor, optional
            A factor for each element, broadcast.
        pos_weight : Tensor, optional
            A factor for the part of the target that is 1, broadcast: one for each class.
        size_average, reduce, reduction
            See `L1Loss`.
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
    """The negative log-likelihood of classes; see `tl_nn.functional.nll_loss`.

    Parameters:
        weight : Tensor, shape (C,), optional
            A factor for each class.
        ignore_index : int
            Targets of this value count for nothing.
        size_average, reduce, reduction
            See `L1Loss`.

    Examples:
        >>> import tl_core, tl_nn
        >>> scores = tl_core.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> tl_nn.NLLLoss(reduction="sum")(scores, tl_core.tensor([1, 1]))
        tensor(1.2500)
    """

    __constants__: ClassVar[list[str]] = ["ignore_index", "reduction"]
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


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of scores; see `tl_nn.functional.cross_entropy`.

    Parameters:
        weight : Tensor, shape (C,), optional
            A factor for each class.
        ignore_index : int
            Targets of this value count for nothing.
        label_smoothing : float
            From 0 to 1: how much of each target is spread evenly over all classes.
        size_average, reduce, reduction
            See `L1Loss`.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.CrossEntropyLoss()(tl_core.zeros(3, 2), tl_core.tensor([0, 1, 1]))
        tensor(0.6931)
    """

    __constants__: ClassVar[list[str]] = ["ignore_index", "reduction", "label_smoothing"]
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

"""Losses of predicted classes as modules."""

from __future__ import annotations

import warnings

from tl_core import Tensor

from .. import functional as F
from .base_loss import _weight, _WeightedLoss

__all__ = ["CrossEntropyLoss", "NLLLoss", "NLLLoss2d"]


class NLLLoss(_WeightedLoss):
    r"""The negative log-likelihood of target classes, reduced.

    Formula:
        .. math::

            \ell_n = -w_{y_n} \, x_{n, y_n} \qquad
            L = \frac{\sum_n \ell_n}{\sum_n w_{y_n}}

        `x` contains log-probabilities, `y` classes, and `w` is `weight` or 1. `L` is the mean: it divides by the
        sum of the weights. Ignored samples are in neither sum.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class. The loss stores it as a buffer.
        ignore_index (int): A target of this value has loss 0 and no gradient, and does not count in the mean. The
            default is -100.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C, d1, ..., dK)`, `(N, C)` or `(C,)`, with C classes.
        - Target: `(N, d1, ..., dK)`, `(N,)` or `()`: int64 or uint8 from 0 to C - 1, or `ignore_index`.
        - Output: `()`, or the shape of a target of classes with `reduction="none"`.

    Notes:
        - The input is usually the result of `LogSoftmax`. `CrossEntropyLoss` takes the scores before it. Nothing
          checks that probabilities are normalized.
        - The mean is NaN where no sample counts: an empty batch, only ignored targets, or weights that sum to 0.
          The sum is 0.

    Raises:
        IndexError: If a target is neither a class nor `ignore_index`.
        RuntimeError: If the target has another type, or `weight` another size.
        ValueError: If the batch sizes differ, or `reduction` is another name.

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
    r"""Deprecated: `NLLLoss`, which accepts inputs of any number of dimensions.

    Formula:
        .. math::

            \ell_n = -w_{y_n} \, x_{n, y_n} \qquad
            L = \frac{\sum_n \ell_n}{\sum_n w_{y_n}}

        `x` contains log-probabilities, `y` classes, and `w` is `weight` or 1. `L` is the mean: it divides by the
        sum of the weights. Ignored samples are in neither sum.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class. The loss stores it as a buffer.
        ignore_index (int): A target of this value has loss 0 and no gradient, and does not count in the mean. The
            default is -100.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C, H, W)`, and all shapes of `NLLLoss`.
        - Target: `(N, H, W)`.
        - Output: `()`, or `(N, H, W)` with `reduction="none"`.

    Notes:
        - The constructor emits a FutureWarning. All else is `NLLLoss`.

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
    r"""The cross entropy of scores for target classes or class probabilities, reduced.

    Formula:
        .. math::

            p_{n c} = \frac{e^{x_{n c}}}{\sum_{k} e^{x_{n k}}} \qquad
            \ell_n = -\sum_{c=1}^{C} w_c \, \left( (1 - \varepsilon) \, q_{n c} +
            \frac{\varepsilon}{C} \right) \ln p_{n c}

        `x` contains scores, `q` is the target's distribution, which is 1 at the target class and 0 elsewhere for a
        target of classes, `w` is `weight` or 1 and `ε` is `label_smoothing`. The mean for classes divides by the
        sum of the targets' weights

        .. math::

            L = \frac{\sum_n \ell_n}{\sum_n w_{y_n}}

        with ignored samples in neither sum. The mean for probabilities divides by the number of samples.

    Args:
        weight (Tensor, shape (C,), optional): A factor for each class. The loss stores it as a buffer.
        ignore_index (int): A target of this value has loss 0 and no gradient, and does not count in the mean. The
            default is -100. It has no meaning for probabilities.
        label_smoothing (float): The share `ε`, from 0 to 1, of each target that is spread evenly over all classes.
            The default is 0.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each sample.
            The default is "mean".

    Shape:
        - Input: `(N, C, d1, ..., dK)`, `(N, C)` or `(C,)`, with C classes.
        - Target: `(N, d1, ..., dK)`, `(N,)` or `()`: int64 or uint8 from 0 to C - 1, or `ignore_index`. Or
          probabilities of the classes: floating-point numbers of the input's shape.
        - Output: `()`, or the shape of a target of classes with `reduction="none"`.

    Notes:
        - The loss is `NLLLoss` of `LogSoftmax`, in one step for classes: finite scores of any size give finite
          losses. The gradient without weights is the softmax minus the target's distribution.
        - A score of negative infinity excludes a class: its loss as a target is infinity. Positive infinity gives
          NaN.
        - The mean is NaN where no sample counts: an empty batch, only ignored targets, or weights that sum to 0.
          The sum is 0.
        - A target of classes is faster than the same target as one-hot probabilities.
        - Source of the smoothing: Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2016.

    Raises:
        IndexError: If a target is neither a class nor `ignore_index`.
        RuntimeError: If a type or the size of `weight` doesn't fit, `label_smoothing` isn't from 0 to 1, or
            probabilities meet an `ignore_index` of at least 0.
        ValueError: If the batch sizes differ, or `reduction` is another name.

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

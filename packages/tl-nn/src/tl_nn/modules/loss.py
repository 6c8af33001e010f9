"""Losses as modules: those of elements and of sequences, and the names of all."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .base_loss import _Loss, _weight, _WeightedLoss

# Their documented path is here.
from .class_losses import CrossEntropyLoss, NLLLoss, NLLLoss2d
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
    r"""The absolute difference of each element of input and target, reduced.

    Formula:
        .. math::

            \ell_n = |x_n - y_n|

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
        - The gradient of an element without a difference is 0. `SmoothL1Loss` has a continuous gradient instead.
        - A target of another shape is broadcast against the input, with a UserWarning, because the result is rarely
          the intended one.
        - The mean of no elements is NaN, their sum 0.
        - Complex input is accepted: the loss is the modulus of the difference. Integer input has no mean and needs
          "sum" or "none".

    Raises:
        ValueError: If `reduction` is another name.
        RuntimeError: If the shapes can't be broadcast.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.L1Loss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    r"""The squared difference of each element of input and target, reduced.

    Formula:
        .. math::

            \ell_n = (x_n - y_n)^{2}

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
        >>> tl_nn.MSELoss()(tl_core.zeros(2), tl_core.tensor([1.0, -3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` for `target`, of the same shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    r"""The squared difference for small differences, the absolute difference for large ones, reduced.

    Formula:
        .. math::

            \ell_n = \begin{cases} d_n^{2} / (2 \beta) & d_n < \beta \\
            d_n - \beta / 2 & \text{otherwise} \end{cases}
            \qquad d_n = |x_n - y_n|

        `x` is the input, `y` the target, and `n` an element of them. `β` is `beta`. The result is the mean, the sum
        or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        beta (float): The difference at which the parabola meets the straight line, at least 0. The default is 1.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

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
        RuntimeError: If `beta` is negative, when the loss is called, or the shapes can't be broadcast.
        ValueError: If `reduction` is another name.

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
    r"""Half the squared difference for small differences, a straight line for large ones, reduced.

    Formula:
        .. math::

            \ell_n = \begin{cases} d_n^{2} / 2 & d_n \le \delta \\
            \delta \, (d_n - \delta / 2) & \text{otherwise} \end{cases}
            \qquad d_n = |x_n - y_n|

        `x` is the input, `y` the target, and `n` an element of them. `δ` is `delta`. The result is the mean, the
        sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".
        delta (float): The difference at which the parabola meets the straight line, above 0. The default is 1.

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
        RuntimeError: If `delta` isn't positive, when the loss is called, or the shapes can't be broadcast.
        ValueError: If `reduction` is another name.

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
    r"""The Kullback-Leibler divergence of the target's distribution from the input's, reduced.

    Formula:
        .. math::

            \ell_n = y_n \, (\ln y_n - x_n)

        `x` contains log-probabilities, `y` probabilities. With `log_target=True` the term is `exp(y) * (y - x)`.
        The sum of all `ℓ` of a sample is its divergence.

    Args:
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. "batchmean" divides the sum by the first size. The default is "mean".
        log_target (bool): Whether the target contains log-probabilities instead of probabilities. The default is
            False.

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
        ValueError: If `reduction` is another name.

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
    r"""The binary cross entropy of probabilities, reduced.

    Formula:
        .. math::

            \ell_n = -w_n \, \bigl( y_n \ln x_n + (1 - y_n) \ln(1 - x_n) \bigr)

        `x` contains probabilities, `y` targets from 0 to 1, and `w` is `weight` or 1. The result is the mean, the
        sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        weight (Tensor, optional): A factor for each element, of a shape that broadcasts to the input's. The loss
            stores it as a buffer.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

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
        RuntimeError: If an element of the input isn't from 0 to 1.
        ValueError: If the shapes differ, or `reduction` is another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.BCELoss()(tl_core.tensor([0.9, 0.2]), tl_core.tensor([1.0, 0.0]))
        tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of probabilities for targets from 0 to 1, of the same shape."""
        return F.binary_cross_entropy(input, target, weight=_weight(self), reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    r"""The binary cross entropy of the sigmoid of scores, computed from the scores, reduced.

    Formula:
        .. math::

            \ell_n = -w_n \, \bigl( p_n \, y_n \ln \sigma(x_n) + (1 - y_n) \ln(1 - \sigma(x_n)) \bigr)

        `x` contains scores, `y` targets from 0 to 1, `σ` is the logistic sigmoid, `w` is `weight` or 1 and `p` is
        `pos_weight` or 1. The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        weight (Tensor, optional): A factor for each element, of a shape that broadcasts to the input's.
        pos_weight (Tensor, optional): A factor for the part of the target that is 1, of a shape that broadcasts to
            the input's: usually one for each class. The ratio of negative to positive samples balances a rare
            class.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

    Shape:
        - Input: `(*)`, any shape.
        - Target: `(*)`, the shape of the input.
        - Output: `()`, or `(*)` with `reduction="none"`.

    Attributes:
        weight, pos_weight (Tensor or None): The factors, which are buffers: they move with the module and are in
            its state.

    Notes:
        - The loss is computed as `(1 - y) x - (1 + (p - 1) y) ln σ(x)` with a stable `ln σ`. Finite scores of any
          size give finite losses and gradients. The gradient without weights is `σ(x) - y`.
        - An infinite score gives infinity or NaN.
        - The mean divides by the number of elements, not by the sum of the weights.

    Raises:
        ValueError: If the shapes of input and target differ, or `reduction` is another name.

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


class PoissonNLLLoss(_Loss):
    r"""The negative log-likelihood of counts under Poisson distributions, reduced.

    Formula:
        .. math::

            \ell_n = e^{x_n} - y_n x_n \qquad \text{or} \qquad \ell_n = x_n - y_n \ln(x_n + \mathrm{eps})

        `x` is the logarithm of the rate, or with `log_input=False` the rate, and `y` the count. `full` adds for
        `y > 1`

        .. math::

            y_n \ln y_n - y_n + \tfrac{1}{2} \ln(2 \pi y_n)

        The result is the mean, the sum or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        log_input (bool): Whether the input is the logarithm of the rate. The default is True.
        full (bool): Whether Stirling's approximation of `ln y!` is added for counts above 1. The default is False.
        eps (float): The summand of a rate under the logarithm, where `log_input` is False. The default is 1e-8.
        size_average, reduce (bool, optional): Older spellings of `reduction`. They emit a warning.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

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
        ValueError: If `reduction` is another name.

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
    r"""The negative log-likelihood of values under normal distributions with predicted variances, reduced.

    Formula:
        .. math::

            \ell_n = \frac{1}{2} \left( \ln v_n + \frac{(x_n - y_n)^{2}}{v_n} \right), \qquad
            v_n = \max(\mathrm{var}_n, \mathrm{eps})

        `x` is the predicted mean, `y` the value, and `var` the predicted variance. The result is the mean, the sum
        or the tensor of all `ℓ`, as `reduction` selects.

    Args:
        full (bool): Whether the constant `ln(2 π) / 2` is added. The default is False.
        eps (float): The least variance. The default is 1e-6.
        reduction (str): "mean" for the mean of all losses, "sum" for their sum, "none" for one loss of each
            element. The default is "mean".

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
        ValueError: If a variance is negative or has another shape, or `reduction` is another name.

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
    r"""Connectionist temporal classification: the loss of labels without a known alignment to a longer sequence.

    Formula:
        .. math::

            \ell = -\ln \sum_{\pi \in \mathcal{B}^{-1}(y)} \; \prod_{t=1}^{T} p_t(\pi_t)

        `y` is the target, `π` an alignment: a label or the blank for each of the `T` steps. `B` merges repeated
        labels and then removes blanks, so the sum is over all alignments that read as `y`. `p_t` are the
        probabilities of step `t`.

    Args:
        blank (int): The index of the blank label. The default is 0.
        reduction (str): "mean" divides each loss by the length of its target, at least 1, and returns the mean over
            the batch. "sum" is the sum, "none" one loss of each sample. The default is "mean".
        zero_infinity (bool): Whether infinite losses and their gradients become 0. The default is False.

    Shape:
        - Log-probabilities: `(T, N, C)` or `(T, C)`, with T steps and C labels, the blank included.
        - Targets: `(N, S)`, padded to the longest, or `(sum(target_lengths),)`, one target after the other.
        - Input lengths, target lengths: `(N,)` or `()`, tensors of integers or tuples.
        - Output: `()`, or `(N,)` or `()` with `reduction="none"`.

    Notes:
        - A target is infinitely unlikely if its length and its number of equal neighbours together exceed the
          input's length. Early in training such samples make the mean infinite: check lengths, or pass
          `zero_infinity=True`.
        - The sum is computed in logarithms by the forward recursion over `2 S + 1` states, in time `O(T S)` for
          each sample.
        - The input must be normalized, as by `log_softmax`: the gradient is that of the scores before it.
        - The result is deterministic. A target of length 0 is the likelihood of blanks alone.
        - Source: Graves et al., Connectionist Temporal Classification, 2006.

    Raises:
        RuntimeError: If lengths exceed the sequences, shapes don't fit, or `blank` or a target isn't one of the C
            labels.
        ValueError: If `reduction` is another name.

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

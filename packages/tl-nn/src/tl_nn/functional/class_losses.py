"""Losses of predicted classes."""

from tl_core import Tensor
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import reduction_code, resolve_reduction

__all__ = ["cross_entropy", "nll_loss"]


@overridable
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The negative log-likelihood of the target classes.

    Formula:
        .. math::

            \ell_n = -w_{y_n} \, x_{n, y_n} \qquad
            L = \frac{\sum_n \ell_n}{\sum_n w_{y_n}}

        `x` contains log-probabilities, `y` classes, and `w` is `weight` or 1. `L` is the mean: it divides by the
        sum of the weights. Ignored samples are in neither sum.

    Args:
        input (Tensor, shape (C,), (N, C) or (N, C, d1, ...)): Log-probabilities of the classes.
        target (Tensor, shape (), (N,) or (N, d1, ...)): The class of each sample, from 0 to C - 1, as int64 or
            uint8.
        weight (Tensor, shape (C,), optional): A factor for each class.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        ignore_index (int): Targets of this value are ignored.
        reduction (str): "none" for a loss of each sample, "mean" for their mean weighted by `weight`, "sum" for
            their sum.

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
        ValueError: If input and target differ in the number of samples, or `reduction` is another name.
        RuntimeError: If shapes or types don't fit otherwise.
        IndexError: If a target isn't a class.

    Example:
        >>> import tl_core, tl_nn
        >>> scores = tl_core.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> tl_nn.functional.nll_loss(scores, tl_core.tensor([1, 1]))
        tensor(0.6250)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.nll_loss_nd(input, target, weight, code, ignore_index)


@overridable
@in_float32
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    r"""The cross entropy between unnormalised scores and classes or probabilities.

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
        input (Tensor, shape (C,), (N, C) or (N, C, d1, ...)): Scores of the classes.
        target (Tensor): Either the class of each sample, as in `nll_loss`, or, with the shape of `input` and a
            floating-point type, the probabilities of all classes.
        weight (Tensor, shape (C,), optional): A factor for each class.
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        ignore_index (int): Targets of this value are ignored. Only for classes.
        reduction (str): "none" for a loss of each sample, "mean" for their mean, "sum" for their sum.
        label_smoothing (float): From 0 to 1: how much of each target is spread evenly over all classes.

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
        ValueError: If input and target differ in the number of samples, or `reduction` is another name.
        RuntimeError: If shapes or types don't fit otherwise, or `label_smoothing` isn't from 0 to 1.
        IndexError: If a target isn't a class.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.cross_entropy(tl_core.zeros(3, 2), tl_core.tensor([0, 1, 1]))
        tensor(0.6931)
    """
    code = reduction_code(resolve_reduction(size_average, reduce, reduction))
    return nn_functions.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)

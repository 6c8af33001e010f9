"""Losses and dropouts as operators of `torch` itself. The reduction of a loss is a number: 0 for "none", 1 for
the mean, 2 for the sum. The argument `training` of `nn.functional` is required."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import reduction_name
from . import dropouts, sequence_losses

__all__: list[str] = []


@overridable
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`.

    Args:
        input: the scores or numbers, of any shape.
        target: the targets, as `input`.
        weight: a weight for each element, or None.
        pos_weight: a weight for positive targets, or None.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> binary_cross_entropy_with_logits(tl_core.tensor([0.0, 2.0]), tl_core.tensor([1.0, 1.0]), None, None, 0)
        tensor([0.6931, 0.1269])
    """
    return nn_functions.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


@overridable
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`.

    Args:
        input1: the first of each pair.
        input2: the second of each pair.
        target: the targets, as `input`.
        margin: the margin.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> x, y = tl_core.tensor([[1.0, 0.0]]), tl_core.tensor([[0.0, 1.0]])
        >>> cosine_embedding_loss(x, y, tl_core.tensor([1.0]), 0.0, 2)
        tensor(1.)
    """
    return nn_functions.cosine_embedding_loss(input1, input2, target, margin, reduction)


@overridable
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`.

    Args:
        log_probs: the logarithms of probabilities, of shape (T, N, C).
        targets: the classes, of shape (N, S) or joined.
        input_lengths: the lengths of the inputs.
        target_lengths: the lengths of the targets.
        blank: the class that is blank.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.
        zero_infinity: whether infinite losses are zero.

    Example:
        >>> import tl_core
        >>> log_probs = tl_core.full((5, 1, 4), 0.25).log()
        >>> ctc_loss(log_probs, tl_core.tensor([[1, 2]]), tl_core.tensor([5]), tl_core.tensor([2]), 0, 1)
        tensor(1.6881)
    """
    name = reduction_name(reduction, "ctc_loss")
    return sequence_losses.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity
    )


@overridable
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`.

    Args:
        input: the scores or numbers, of any shape.
        target: the targets, as `input`.
        margin: the margin.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> hinge_embedding_loss(tl_core.tensor([0.3, 0.3]), tl_core.tensor([1.0, -1.0]), 1.0, 0)
        tensor([0.3000, 0.7000])
    """
    return nn_functions.hinge_embedding_loss(input, target, margin, reduction)


@overridable
def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div` with the mean over all elements.

    Args:
        input: the scores or numbers, of any shape.
        target: the targets, as `input`.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.
        log_target: whether `target` has logarithms.

    Example:
        >>> import tl_core
        >>> kl_div(tl_core.tensor([0.5, 0.5]).log(), tl_core.tensor([0.25, 0.75]), 2)
        tensor(0.1308)
    """
    return nn_functions.kl_div(input, target, reduction, log_target=log_target)


@overridable
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """`nn.functional.margin_ranking_loss`.

    Args:
        input1: the first of each pair.
        input2: the second of each pair.
        target: the targets, as `input`.
        margin: the margin.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> margin_ranking_loss(tl_core.tensor([1.0]), tl_core.tensor([2.0]), tl_core.tensor([1.0]), 0.5, 1)
        tensor(1.5000)
    """
    return nn_functions.margin_ranking_loss(input1, input2, target, margin, reduction)


@overridable
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """`nn.functional.poisson_nll_loss`.

    Args:
        input: the scores or numbers, of any shape.
        target: the targets, as `input`.
        log_input: whether `input` has logarithms.
        full: whether Stirling's term is added.
        eps: a small number against a division or logarithm of zero.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> poisson_nll_loss(tl_core.tensor([0.0]), tl_core.tensor([3.0]), True, False, 1e-8, 1)
        tensor(1.)
    """
    return nn_functions.poisson_nll_loss(input, target, log_input, full, eps, reduction)


@overridable
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`.

    Args:
        anchor: the anchors, of shape (N, D).
        positive: the samples that are near, of the same shape.
        negative: the samples that are far, of the same shape.
        margin: the margin.
        p: the order of the norm.
        eps: a small number against a division or logarithm of zero.
        swap: whether the distance of positive and negative counts if it is smaller.
        reduction: 0 for no reduction, 1 for the mean, 2 for the sum.

    Example:
        >>> import tl_core
        >>> anchor, near, far = (tl_core.tensor([[x]]) for x in (0.0, 1.0, 1.5))
        >>> triplet_margin_loss(anchor, near, far, 1.0, 2.0, 1e-6, False, 1)
        tensor(0.5000)
    """
    return nn_functions.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


# ---- dropouts
@overridable
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`.

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.

    Example:
        >>> import tl_core
        >>> alpha_dropout(tl_core.ones(3), 0.5, False)
        tensor([1., 1., 1.])
    """
    return dropouts.alpha_dropout(input, p, train)


@overridable
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`, in place.

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.
    """
    return dropouts.alpha_dropout(input, p, train, inplace=True)


@overridable
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`.

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.

    Example:
        >>> import tl_core
        >>> feature_alpha_dropout(tl_core.ones(1, 3), 0.5, False)
        tensor([[1., 1., 1.]])
    """
    return dropouts.feature_alpha_dropout(input, p, train)


@overridable
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`, in place.

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.
    """
    return dropouts.feature_alpha_dropout(input, p, train, inplace=True)


@overridable
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels, for an input of shape (N, C, ...).

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.

    Example:
        >>> import tl_core
        >>> feature_dropout(tl_core.ones(1, 3), 0.5, False)
        tensor([[1., 1., 1.]])
    """
    return _feature_dropout(input, p, train, False)


@overridable
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, in place.

    Args:
        input: the tensor.
        p: the probability that an element, or a channel, is dropped.
        train: whether elements are dropped.
    """
    return _feature_dropout(input, p, train, True)


def _feature_dropout(input: Tensor, p: float, train: bool, inplace: bool) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    flat = input.flatten(2) if input.dim() > 2 else input.unsqueeze(2)
    output = dropouts.dropout1d(flat, p, train).view(input.shape)
    return input.copy_(output) if inplace else output


@overridable
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which have size 1 in the result. -1 is the norm over all dimensions.

    Args:
        v: the tensor.
        pow: the order of the norm.
        dim: the dimension that the norm leaves out.

    Example:
        >>> import tl_core
        >>> norm_except_dim(tl_core.tensor([[3.0, 4.0], [6.0, 8.0]]), 2, 0)
        tensor([[ 5.],
                [10.]])
    """
    return nn_functions.norm_except_dim(v, pow, dim)


@overridable
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """The direction of `v` times the lengths `g`: `v * (g / norm_except_dim(v, 2, dim))`.

    Args:
        v: the directions.
        g: the lengths, of size 1 in all dimensions but `dim`.
        dim: the dimension that has a length for each index. -1 for one length.

    Example:
        >>> import tl_core
        >>> _weight_norm(tl_core.tensor([[3.0, 4.0]]), tl_core.tensor([[10.0]]))
        tensor([[6., 8.]])
    """
    return v * (g / norm_except_dim(v, 2, dim))

"""The cross entropy of a linear layer's scores."""

from typing import Any

from tl_core import Tensor
from tl_core.overrides import overridable

from .affine import linear
from .class_losses import cross_entropy

__all__ = ["linear_cross_entropy"]


@overridable
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    r"""`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Formula:
        .. math::

            L = \mathrm{cross\_entropy}(W x + b, y)

        `W` and `b` are `linear_weight` and `linear_bias`, `x` are the features and `y` the target.

    Args:
        input (Tensor, shape (N, in_features) or (in_features,)): The features.
        linear_weight (Tensor, shape (C, in_features) or (C, d1, ..., in_features)): The weight; with further
            dimensions, there is a loss for each place of them.
        target (Tensor): The classes, shape (N,) or (N, d1, ...), or the probabilities of all classes.
        linear_bias (Tensor, shape (C,) or (C, d1, ...), optional): Added to the scores.
        weight, reduction, label_smoothing: See `cross_entropy`.
        ignore_index (int, optional): Targets of this value are ignored, by default -100.
        options: Accepted for compatibility: there is one way to compute it.

    Shape:
        - Input: `(N, in_features)`, or `(in_features,)` without further dimensions.
        - Weight: `(C, in_features)` or `(C, d1, ..., dK, in_features)`. Bias: the shape of the weight without the
          last dimension.
        - Target: `(N, d1, ..., dK)` or `()`, classes, or probabilities of shape `(N, C, d1, ..., dK)` or `(C,)`.
        - Output: `()`, or the shape of a target of classes with `reduction="none"`.

    Notes:
        - The scores are computed as one tensor, of `N * C * d1 * ... * dK` elements. Numerics are those of
          `CrossEntropyLoss`.

    Raises:
        RuntimeError: If the input, the weight or the bias has another number of dimensions or another size, or
            `ignore_index` meets probabilities.

    Example:
        >>> import tl_core, tl_nn
        >>> target = tl_core.tensor([0, 1, 1])
        >>> tl_nn.functional.linear_cross_entropy(tl_core.ones(3, 4), tl_core.zeros(2, 4), target)
        tensor(0.6931)
    """
    _check(input, linear_weight, target, linear_bias, ignore_index)
    *outputs, features = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, features), bias)
    scores = scores.reshape(*input.shape[:-1], *outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check(
    input: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, ignore_index: int | None
) -> None:
    name = "linear_cross_entropy(): "
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{name}expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(f"{name}expected linear_weight with dimensionality at least 2, got {weight.dim()}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"{name}expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and "
            f"{weight.shape[-1]}, respectively"
        )
    if input.dim() == 1 and weight.dim() > 2:
        raise RuntimeError(
            f"{name}K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"{name}expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError(f"{name}ignore_index cannot be specified when target contains probabilities")

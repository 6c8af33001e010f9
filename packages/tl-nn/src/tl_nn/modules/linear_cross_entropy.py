"""A linear layer and the cross entropy of its scores in one."""

from __future__ import annotations

from math import prod
from typing import Any

from tl_core import Tensor

from .. import functional as F
from .base_loss import _WeightedLoss
from .linear import Linear

__all__ = ["LinearCrossEntropyLoss"]


class LinearCrossEntropyLoss(_WeightedLoss):
    r"""The cross entropy of the scores of a linear layer, which belongs to the loss.

    Formula:
        .. math::

            L = \mathrm{CrossEntropy}(W x + b, y)

        `W` and `b` are the weight and the bias of `linear`, `x` are the features and `y` the target.
        `CrossEntropyLoss` has the formula of the cross entropy.

    Args:
        in_features (int): The size of the features.
        num_classes (int): The number of classes C.
        out_features (tuple of int): Further dimensions d1, ..., dK of the scores, with a loss for each index. The
            default is none.
        bias (bool): Whether the layer has a bias. The default is False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        reduction, weight, label_smoothing: See `CrossEntropyLoss`.
        ignore_index (int, optional): A target of this value does not count. None selects -100.
        options: Accepted for compatibility: there is one way to compute the loss.

    Shape:
        - Input: `(N, in_features)`, or `(in_features,)` without further dimensions.
        - Target: `(N, d1, ..., dK)` or `()`, classes, or probabilities of shape `(N, C, d1, ..., dK)` or `(C,)`.
        - Output: `()`, or the shape of a target of classes with `reduction="none"`.

    Attributes:
        linear (Linear): The layer, from `in_features` to `C * d1 * ... * dK`, with the initial distribution of
            `Linear`.
        weight (Tensor, shape (C,), or None): The factors of the classes, a buffer.

    Notes:
        - The scores are computed as one tensor, of `N * C * d1 * ... * dK` elements. Numerics are those of
          `CrossEntropyLoss`.

    Raises:
        RuntimeError: If a shape doesn't fit, or `ignore_index` meets probabilities, when the loss is called.
        IndexError: If a target is neither a class nor `ignore_index`.

    Example:
        >>> import tl_core, tl_nn
        >>> loss = tl_nn.LinearCrossEntropyLoss(4, 3)
        >>> loss(tl_core.zeros(2, 4), tl_core.tensor([0, 2]))
        tensor(1.0986, grad_fn=<CrossEntropyBackward0>)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        size = num_classes * prod(self.out_features)
        self.linear: Any = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of features, shape (N, in_features), for classes or probabilities."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )

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
    """The cross entropy of a linear layer's scores. See `tl_nn.functional.linear_cross_entropy`.

    Args:
        in_features (int): The size of the input.
        num_classes (int): The number of classes.
        out_features (tuple of int): Further dimensions, for each place of which there is a loss.
        bias (bool): Whether scores have a bias.
        device, dtype (optional): Of the layer's parameters.
        reduction, weight, label_smoothing: See `CrossEntropyLoss`.
        ignore_index (int, optional): Targets of this value are ignored, by default -100.
        options: Accepted for compatibility: there is one way to compute it.

    Attributes:
        linear (Linear): The layer.

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

"""Softmax over many classes, the rare ones in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tl_core
from tl_core import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    r"""An approximation of softmax over many classes, which computes rare classes in clusters of smaller layers.

    Class numbers are sorted by frequency, the most frequent first. The classes before the first cutoff are in the
    head. Each further cutoff begins a cluster, for which the head has one more output.

    Formula:
        .. math::

            \ln p(y \mid x) = \begin{cases} \ln h_y(x) & y < \mathrm{cutoffs}_0 \\
            \ln h_{k}(x) + \ln t^{(k)}_{y}(x) & y \text{ in cluster } k \end{cases}

        `h` is the softmax of the head over its classes and the clusters, `t^(k)` the softmax of cluster `k` over
        its classes. The loss is the mean of `-ln p` over the batch.

    Args:
        in_features (int): The size of the input.
        n_classes (int): The number of classes.
        cutoffs (sequence of int): The first class of each cluster, increasing, from 1 to `n_classes - 1`.
        div_value (float): The factor by which the features of a cluster shrink from cluster to cluster. The default
            is 4.
        head_bias (bool): Whether the head has a bias. The default is False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, in_features)` or `(in_features,)`.
        - Target: `(N,)` or `()`, classes from 0 to `n_classes - 1`.
        - Output: a pair `output`, `(N,)` or `()`, the log-probability of each target, and `loss`, `()`.

    Attributes:
        head (Linear): From `in_features` to `cutoffs[0] + len(cutoffs)`.
        tail (ModuleList): For cluster `k`, counted from 0, two linear layers without biases, from `in_features`
            over `in_features // div_value ** (k + 1)` features to the cluster's classes.

    Notes:
        - A call computes a cluster only for the samples whose target is in it. `log_prob` computes all classes.
          `predict` computes the clusters unless the head's best output is a class for all samples.
        - Parameters have the initial distribution of `Linear`.
        - The loss of an empty batch is NaN.
        - Source: Grave et al., Efficient Softmax Approximation for GPUs, 2016.

    Raises:
        ValueError: If `cutoffs` aren't increasing integers from 1 to `n_classes - 1`.
        RuntimeError: If the shapes don't fit, or a target isn't a class, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[3, 6])
        >>> layer.log_prob(tl_core.zeros(2, 16)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        starts = list(cutoffs)
        if not starts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        is_valid = all(int(start) == start and 0 < start < n_classes for start in starts)
        if not is_valid or starts != sorted(set(starts)):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                f"where each value is between 1 and n_classes-1, but got {starts} and n_classes={n_classes}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*starts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = starts[0]
        self.n_clusters = len(starts)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head: Any = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail: Any = ModuleList()
        for number in range(self.n_clusters):
            hidden = int(in_features // div_value ** (number + 1))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            layers = (
                Linear(in_features, hidden, bias=False, **kind),
                Linear(hidden, size, bias=False, **kind),
            )
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target, and the loss.

        Args:
            input_ (Tensor, shape (N, in_features) or (in_features,)): The features.
            target_ (Tensor, shape (N,) or ()): The classes.

        Returns:
            output, shape (N,) or (), and loss, shape ()

        Raises:
            RuntimeError: If the shapes don't fit, or a target isn't a class.
        """
        _check_target(input_, target_, self.n_classes)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        column = target.clamp(max=self.shortlist_size - 1)
        output = input.new_zeros(target.shape)
        for number, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                column = column.scatter(0, rows, self.shortlist_size + number)
                scores = F.log_softmax(self.tail[number](input.index_select(0, rows)), dim=1)
                own = scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
                output = output.scatter(0, rows, own)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, column.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log-probabilities of all classes, given the scores of frequent classes and clusters."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, layers in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + number].unsqueeze(1)
            parts.append(F.log_softmax(layers(input), dim=1) + cluster)
        return tl_core.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, shape (N, n_classes), for features of shape (N, in_features)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample, shape (N,), for features of shape (N, in_features)."""
        head = self.head(input)
        best = head.argmax(1)
        if bool((best < self.shortlist_size).all()):
            return best
        return self._get_full_log_prob(input, head).argmax(1)


def _check_target(input: Tensor, target: Tensor, classes: int) -> None:
    if target.dim() == 1:
        if input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != 2:
            raise RuntimeError(
                "1D target tensor expects 2D input tensors, but found inputs with size " + str(input.size())
            )
    elif target.dim() == 0:
        if input.dim() != 1:
            raise RuntimeError(
                "0D target tensor expects 1D input tensors, but found inputs with size " + str(input.size())
            )
    else:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < classes:
        raise RuntimeError(
            f"Target values should be in [0, {classes - 1}], but values in range "
            f"[{int(target.min())}, {int(target.max())}] were found."
        )

"""Losses of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tl_core
from tl_core import Tensor, where
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import check, reduce_losses
from .checks import check_tensor

__all__ = ["ctc_loss"]


@overridable
@in_float32
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    r"""The negative log-likelihood of sequences of labels, over all alignments.

    Formula:
        .. math::

            \ell = -\ln \sum_{\pi \in \mathcal{B}^{-1}(y)} \; \prod_{t=1}^{T} p_t(\pi_t)

        `y` is the target, `π` an alignment: a label or the blank for each of the `T` steps. `B` merges repeated
        labels and then removes blanks, so the sum is over all alignments that read as `y`. `p_t` are the
        probabilities of step `t`.

    Args:
        log_probs (Tensor, shape (T, N, C) or (T, C)): Log-probabilities of C labels, the blank among them.
        targets (Tensor, shape (N, S) or (sum of target_lengths,)): Labels, without the blank.
        input_lengths, target_lengths (Tensor or sequence of int, N numbers): The lengths of the sequences of a batch.
        blank (int): The blank's label.
        reduction (str): "none", "sum", or "mean", for the mean of the losses divided by their targets' lengths.
        zero_infinity (bool): Whether infinite losses, of targets longer than the input allows, and their
            gradients become 0.

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
        RuntimeError: If shapes, lengths or the blank don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> scores = tl_core.zeros(2, 1, 2).log_softmax(-1)
        >>> tl_nn.functional.ctc_loss(scores, tl_core.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """
    check_tensor("ctc_loss", log_probs, "log_probs")
    check_tensor("ctc_loss", targets, "targets")
    check(reduction)
    batched = log_probs.dim() == 3
    if not batched:
        if log_probs.dim() != 2:
            raise RuntimeError(f"log_probs must have 2 or 3 dimensions, got {log_probs.dim()}")
        log_probs = log_probs.unsqueeze(1)
    _check_sizes(log_probs, blank)
    inputs = _Lengths.read(input_lengths, "input_lengths", log_probs)
    lengths = _Lengths.read(target_lengths, "target_lengths", log_probs)
    _check_lengths(log_probs, inputs, lengths)
    padded = _label_rows(targets, lengths, blank)
    losses, _ = nn_functions.ctc_losses(log_probs, padded, inputs.tensor, lengths.tensor, blank)
    if zero_infinity:
        losses = where(losses.isinf(), 0.0, losses)
    if reduction == "mean":
        return (losses / lengths.tensor.clamp_min(1).to(losses.dtype)).mean()
    return reduce_losses(losses if batched else losses.squeeze(0), reduction)


class _Lengths(NamedTuple):
    """The lengths of the sequences of a batch."""

    tensor: Tensor
    values: list[int] | None  # None under a vmap over the lengths: each example has its own

    @classmethod
    def read(cls, lengths: Tensor | Sequence[int], name: str, log_probs: Tensor) -> _Lengths:
        if isinstance(lengths, Tensor):
            if lengths.is_floating_point() or lengths.dtype == tl_core.bool:
                raise RuntimeError(f"{name} must be integral, got {lengths.dtype}")
            numbers = lengths.reshape(-1).to(log_probs.device, tl_core.int64)
            values = None if lengths._hides_batch() else numbers.tolist()
        else:
            values = [int(n) for n in lengths]
            numbers = tl_core.tensor(values, dtype=tl_core.int64, device=log_probs.device)
        if len(numbers) != log_probs.shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size {log_probs.shape[1]}, got {len(numbers)}")
        return cls(numbers, values)

    def longest(self, room: int) -> int:
        """The largest of them, or all the room there is where they aren't known."""
        return room if self.values is None else max(self.values, default=0)


def _check_sizes(log_probs: Tensor, blank: int) -> None:
    labels = log_probs.shape[2]
    if not 0 <= blank < labels:
        raise RuntimeError(f"blank must be in label range: got {blank} of {labels} labels")


def _check_lengths(log_probs: Tensor, inputs: _Lengths, lengths: _Lengths) -> None:
    """The operator checks lengths of each example of a batch."""
    steps = log_probs.shape[0]
    for n in inputs.values or ():
        if not 0 <= n <= steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {n}")
    if any(n < 0 for n in lengths.values or ()):
        raise RuntimeError(f"Expected target_lengths to have no negative value, got {lengths.values}")


def _label_rows(targets: Tensor, lengths: _Lengths, blank: int) -> Tensor:
    """One row of labels for each sample."""
    if targets.dim() == 2:
        longest = lengths.longest(targets.shape[1])
        if targets.shape[1] < longest:
            raise RuntimeError(f"Expected targets of at least {longest} labels, got {list(targets.shape)}")
        return targets[:, :longest].to(tl_core.int64)
    room = targets.shape[0]
    if targets.dim() != 1 or (lengths.values is not None and room != sum(lengths.values)):
        raise RuntimeError(
            f"Expected targets of {sum(lengths.values or ())} labels, got {list(targets.shape)}"
        )
    positions = tl_core.arange(lengths.longest(room), device=targets.device)
    firsts = (lengths.tensor.cumsum(0) - lengths.tensor).unsqueeze(1)
    counted = positions < lengths.tensor.unsqueeze(1)
    labels = targets.gather(0, where(counted, firsts + positions, 0).flatten()).view_as(counted)
    return where(counted, labels, blank).to(tl_core.int64)

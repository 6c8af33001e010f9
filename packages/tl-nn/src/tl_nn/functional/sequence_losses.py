"""Losses of sequences."""

from collections.abc import Sequence

import tl_core
from tl_core import Tensor, stack, where
from tl_core.autocast_inputs import in_float32
from tl_core.overrides import overridable

from .._reduction import check, reduced
from .checks import check_tensor

__all__ = ["ctc_loss"]

_IMPOSSIBLE = (
    -1e30
)  # the logarithm of the probability of what can't be; finite, so that gradients stay numbers


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
    """The negative log-likelihood of sequences of labels, over all alignments.

    Args:
        log_probs (Tensor, shape (T, N, C) or (T, C)): Log-probabilities of C labels, the blank among them.
        targets (Tensor, shape (N, S) or (sum of target_lengths,)): Labels, without the blank.
        input_lengths, target_lengths (Tensor or sequence of int, N numbers): How much of each sequence counts.
        blank (int): The blank's label.
        reduction (str): "none"; "sum"; or "mean", for the mean of the losses divided by their targets' lengths.
        zero_infinity (bool): Whether infinite losses, of targets longer than the input allows, and their
            gradients become 0.

    Raises:
        RuntimeError: If shapes, lengths or the blank don't fit.

    References:
        Graves et al., Connectionist Temporal Classification, 2006.

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
    inputs, lengths = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    _check(log_probs, inputs, lengths, blank)
    padded = _padded(targets, lengths, blank)
    losses = _negative_log_likelihood(log_probs, padded, inputs, lengths, blank)
    losses = losses + _probability_mass(log_probs, inputs)
    endless = losses > -_IMPOSSIBLE / 2
    losses = where(endless, 0.0 if zero_infinity else tl_core.inf, losses)
    if reduction == "mean":
        sizes = tl_core.tensor(lengths, device=log_probs.device).clamp_min(1).to(losses.dtype)
        return (losses / sizes).mean()
    return reduced(losses if batched else losses.squeeze(0), reduction)


def _probability_mass(log_probs: Tensor, inputs: list[int]) -> Tensor:
    """Zeros, with the gradient of each sample's probabilities.

    With it, the gradient by log-probabilities is that by the scores they are the log-softmax of, which is what the
    reference computes and users of unnormalized inputs see.
    """
    steps = tl_core.arange(log_probs.shape[0], device=log_probs.device).unsqueeze(1)
    counted = steps < tl_core.tensor(inputs, device=log_probs.device)
    mass = where(counted.unsqueeze(-1), log_probs, float("-inf")).exp().sum([0, 2])
    return mass - mass.detach()


def _lengths(given: Tensor | Sequence[int], name: str) -> list[int]:
    if isinstance(given, Tensor):
        if given.is_floating_point() or given.dtype == tl_core.bool:
            raise RuntimeError(f"{name} must be integral, got {given.dtype}")
        return [int(n) for n in given.reshape(-1).tolist()]
    return [int(n) for n in given]


def _check(log_probs: Tensor, inputs: list[int], lengths: list[int], blank: int) -> None:
    steps, batch, labels = log_probs.shape
    if not 0 <= blank < labels:
        raise RuntimeError(f"blank must be in label range: got {blank} of {labels} labels")
    if len(inputs) != batch:
        raise RuntimeError(f"input_lengths must be of size batch_size {batch}, got {len(inputs)}")
    if len(lengths) != batch:
        raise RuntimeError(f"target_lengths must be of size batch_size {batch}, got {len(lengths)}")
    for n in inputs:
        if not 0 <= n <= steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {n}")
    if any(n < 0 for n in lengths):
        raise RuntimeError(f"Expected target_lengths to have no negative value, got {lengths}")


def _padded(targets: Tensor, lengths: list[int], blank: int) -> Tensor:
    """One row of labels for each sample."""
    longest = max(lengths, default=0)
    if targets.dim() == 2:
        if targets.shape[1] < longest:
            raise RuntimeError(f"Expected targets of at least {longest} labels, got {list(targets.shape)}")
        return targets[:, :longest].to(tl_core.int64)
    if targets.dim() != 1 or targets.shape[0] < sum(lengths):
        raise RuntimeError(f"Expected targets of {sum(lengths)} labels, got {list(targets.shape)}")
    rows = targets.new_full((len(lengths), longest), blank).to(tl_core.int64)
    first = 0
    for row, n in zip(rows, lengths, strict=True):
        row[:n] = targets[first : first + n]
        first += n
    return rows


def _negative_log_likelihood(
    log_probs: Tensor, targets: Tensor, inputs: list[int], lengths: list[int], blank: int
) -> Tensor:
    """The forward recursion over blanks and labels in turn: blank, label, blank, ..., blank."""
    steps, batch, _ = log_probs.shape
    states = 2 * targets.shape[1] + 1
    labels = targets.new_full((batch, states), blank)
    labels[:, 1::2] = targets
    skips = labels.new_zeros((batch, states), dtype=tl_core.bool)
    skips[:, 2:] = (labels[:, 2:] != blank).logical_and(labels[:, 2:] != labels[:, :-2])
    emitted = log_probs.gather(2, labels.unsqueeze(0).expand(steps, batch, states))
    unseen = log_probs.new_full((batch, 2), _IMPOSSIBLE)
    alpha = log_probs.new_full((batch, states), _IMPOSSIBLE)
    alpha[:, 0] = 0.0  # before the first step: at the first blank, or about to emit the first label
    counts = tl_core.tensor(inputs, device=log_probs.device).unsqueeze(1)
    for t in range(max(inputs, default=0)):
        if t == 0:
            start = tl_core.arange(states, device=log_probs.device) < 2
            following = where(start, emitted[0], _IMPOSSIBLE)
        else:
            before = tl_core.cat([unseen, alpha], 1)
            two_back = where(skips, before[:, :states], _IMPOSSIBLE)
            arrived = stack([alpha, before[:, 1 : states + 1], two_back]).logsumexp(0)
            following = (arrived + emitted[t]).clamp_min(_IMPOSSIBLE)
        alpha = where(counts > t, following, alpha)
    ends = tl_core.tensor(lengths, device=log_probs.device).unsqueeze(1) * 2
    last, label = alpha.gather(1, ends), alpha.gather(1, (ends - 1).clamp_min(0))
    label = where(ends > 0, label, _IMPOSSIBLE)
    return -stack([last, label]).logsumexp(0).squeeze(1)

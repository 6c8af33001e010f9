"""Losses of sequences."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .._reduction import reduction_code

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
    code = reduction_code(reduction)
    if not isinstance(input_lengths, Tensor) and not isinstance(target_lengths, Tensor):
        input_lengths, target_lengths = list(map(int, input_lengths)), list(map(int, target_lengths))
    else:
        input_lengths, target_lengths = _tensor(input_lengths), _tensor(target_lengths)
    return nn_functions.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity
    )


def _tensor(lengths: Tensor | Sequence[int]) -> Tensor:
    """Lengths as a tensor, where the others are one."""
    if isinstance(lengths, Tensor):
        return lengths
    return tl_core.tensor(list(map(int, lengths)), dtype=tl_core.int64)

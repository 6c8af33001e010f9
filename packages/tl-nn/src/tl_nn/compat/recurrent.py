"""The functions of plain recurrent layers by mode, and the order of a batch, which is `index_select`."""

from __future__ import annotations

import warnings

from tl_core import Tensor, rnn_relu, rnn_tanh

__all__ = ["apply_permutation"]

_rnn_impls = {"RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The entries of a tensor in another order. Retired in PyTorch: call `tensor.index_select`.

    Args:
        tensor (Tensor): The tensor.
        permutation (Tensor): The indices.
        dim (int): The dimension, by default that of the batch in the states of recurrent layers.

    Returns:
        The selected entries.

    Example:
        >>> import tl_core as tl
        >>> apply_permutation(tl.tensor([[1, 2, 3]]), tl.tensor([2, 0, 1]))
        tensor([[3, 1, 2]])
    """
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)

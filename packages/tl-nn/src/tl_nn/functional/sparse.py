"""Lookups by class or index."""

import warnings

import tl_core
from tl_core import Tensor, no_grad
from tl_core.base.keyword_names import also_named
from tl_core.dispatch.keys import is_tensor_subclass_like
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .checks import check_tensor

__all__ = ["embedding", "embedding_bag", "one_hot"]


@overridable
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of a table at the given indices.

    Args:
        input (Tensor of int64 or int32, shape (*)): The indices of rows, each from 0 to the number of rows.
        weight (Tensor, shape (V, D)): The table.
        padding_idx (int, optional): A row without gradient. Negative numbers count from the end.
        max_norm (float, optional): Rows that are looked up are first shortened, in place, to this norm.
        norm_type (float): The exponent of that norm.
        scale_grad_by_freq (bool): Whether a row's gradient is divided by how often the row is looked up.
        sparse (bool): Whether the gradient is a sparse tensor, of the looked-up rows only.

    Returns:
        Tensor, shape (*, D)

    Raises:
        IndexError: If an index isn't a row.
        AssertionError: If `padding_idx` isn't a row.
        RuntimeError: If the table isn't a matrix or the indices are of another type.

    Example:
        >>> import tl_core, tl_nn
        >>> table = tl_core.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> tl_nn.functional.embedding(tl_core.tensor([1, 0]), table)
        tensor([[2., 3.],
                [0., 1.]])
    """
    padding = _padding_row(padding_idx, weight)
    if max_norm is not None:
        with no_grad():
            tl_core.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return tl_core.embedding(weight, input, padding, scale_grad_by_freq, sparse)


def _padding_row(padding_idx: int | None, weight: Tensor) -> int:
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings, got {padding_idx} for {rows} rows")
    return padding_idx % rows


@overridable
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows, without the rows themselves in memory.

    Args:
        input (Tensor of int64 or int32, shape (N,) or (B, N)): Indices, where a matrix has one bag a row.
        weight (Tensor, shape (V, D)): The table.
        offsets (Tensor, shape (B,)): Where each bag begins, for a vector of indices.
        max_norm, norm_type, scale_grad_by_freq, sparse: See `embedding`.
        mode (str): "sum", "mean" or "max". The result of an empty bag is zero.
        per_sample_weights (Tensor, of input's shape, optional): A factor for each row, for sums.
        include_last_offset (bool): Whether `offsets` ends with the number of indices.
        padding_idx (int, optional): A row that the result ignores.

    Returns:
        Tensor, shape (B, D)

    Raises:
        ValueError: If shapes or `mode` don't fit.
        NotImplementedError: If there are weights and `mode` isn't "sum".

    Example:
        >>> import tl_core, tl_nn
        >>> table = tl_core.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> tl_nn.functional.embedding_bag(tl_core.tensor([[0, 1], [1, 1]]), table, mode="sum")
        tensor([[2., 4.],
                [4., 6.]])
    """
    if weight.dtype == tl_core.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. "
            "Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    input, offsets, factors = _bags(input, weight, offsets, per_sample_weights, include_last_offset)
    number = _bag_mode(mode, scale_grad_by_freq, sparse, factors)
    if max_norm is not None:
        with no_grad():
            tl_core.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return tl_core.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, number, sparse, factors, include_last_offset, padding_idx
    )[0]


def _bags(
    input: Tensor, weight: Tensor, offsets: Tensor | None, factors: Tensor | None, with_end: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Indices and weights as vectors, and the beginnings of the bags, optionally with the end of the last."""
    if factors is not None and input.shape != factors.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(factors.shape)}) is not None, "
            f"then it must have the same shape as the input ({list(input.shape)})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        return input, offsets, factors
    if input.dim() != 2:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    bags, length = input.shape
    offsets = tl_core.arange(bags + with_end, dtype=input.dtype, device=input.device) * length
    return input.reshape(-1), offsets, None if factors is None else factors.reshape(-1)


def _bag_mode(mode: str, by_frequency: bool, sparse: bool, factors: Tensor | None) -> int:
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}')."
        )
    return ("sum", "mean", "max").index(mode)


@overridable
@also_named(input="tensor")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the given class.

    Args:
        tensor (Tensor of int64, shape (*)): Classes, from 0.
        num_classes (int): The length of the vectors, by default one more than the largest class.

    Returns:
        Tensor of int64, shape (*, num_classes)

    Raises:
        RuntimeError: If the input isn't int64, holds a class below 0 or not below `num_classes`, or is empty and
            `num_classes` isn't given.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.one_hot(tl_core.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    check_tensor("one_hot", tensor)
    if not is_tensor_subclass_like(tensor):
        return nn_functions.one_hot(tensor, num_classes)
    # The number of classes of a traced tensor may be a symbol, which rows cannot take.
    if tensor.dtype != tl_core.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes <= 0 and tensor.numel() == 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes < 1 and num_classes != -1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}.")
    classes = num_classes if num_classes > 0 else int(tensor.amax()) + 1
    zeros = tensor.new_zeros((*tensor.shape, classes))  # a tensor of the same class, such as a DTensor
    return zeros.scatter(-1, tensor.unsqueeze(-1), 1)

"""Nested tensors in pickles and deep copies."""

from __future__ import annotations

import copy
from typing import Any

from tl_core._C import Tensor
from tl_core.nested.ragged import Ragged
from tl_core.nested.tensor import NestedTensor, view_of_values

__all__ = ["deepcopy_jagged", "rebuild_jagged", "reduce_jagged"]


def check_leaf(t: Tensor) -> None:
    if not t.is_leaf:
        raise RuntimeError(
            "only tensors that no operator made can be deeply copied with their gradient: detach() first"
        )


def rebuild_jagged(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None,
    ragged_idx: int,
    requires_grad: bool,
) -> NestedTensor:
    """A nested tensor from what a pickle holds of it; ValueError if the parts do not fit together.

    Args:
        values: the elements of all components, one after the other.
        offsets: where each begins, int64, with the end.
        lengths: how long each is; None where the next begins behind it.
        ragged_idx: the dimension that differs in size.
        requires_grad: whether gradients are recorded.
    """
    if not 1 <= ragged_idx <= values.dim() or offsets.dim() != 1 or offsets.shape[0] < 1:
        raise ValueError(
            f"no nested tensor has values of {tuple(values.shape)}, offsets of {tuple(offsets.shape)} and "
            f"ragged dimension {ragged_idx}"
        )
    nested = view_of_values(values.detach(), Ragged(offsets, lengths), ragged_idx)
    ends = offsets[-1:] if lengths is None else offsets[:-1] + lengths
    rows = values.shape[ragged_idx - 1]
    if not offsets.is_meta and (
        nested._ragged.min_length < 0 or bool((ends > rows).any()) or nested._ragged.starts[:1] < [0]
    ):
        raise ValueError(f"the offsets {offsets} do not fit {rows} rows")
    return nested.requires_grad_() if requires_grad else nested


def reduce_jagged(t: NestedTensor) -> Any:
    """What pickle stores: the values, the structure."""
    values = t.detach().values()
    return (
        rebuild_jagged,
        (values, t._offsets, t._lengths, t._ragged_idx, t.requires_grad),
    )


def deepcopy_jagged(t: NestedTensor, memo: dict[int, Any]) -> NestedTensor:
    """A copy with values and a structure of its own."""
    if id(t) in memo:
        return memo[id(t)]
    check_leaf(t)
    values = copy.deepcopy(t.detach().values(), memo)
    ragged = copy.deepcopy(t._ragged, memo)
    result = view_of_values(values, ragged, t._ragged_idx)
    if t.requires_grad:
        result.requires_grad_()
    if t.grad is not None:
        result.grad = copy.deepcopy(t.grad, memo)
    memo[id(t)] = result
    return result


setattr(NestedTensor, "__reduce_ex__", lambda self, protocol: reduce_jagged(self))  # noqa: B010
setattr(NestedTensor, "__deepcopy__", deepcopy_jagged)  # noqa: B010

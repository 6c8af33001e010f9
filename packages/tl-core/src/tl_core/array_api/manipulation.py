"""Arrays in another shape or order, together or apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core as _tl
from tl_core._C import Tensor

from .promotion import result_type

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat",
           "reshape", "roll", "squeeze", "stack", "tile", "unstack"]  # fmt: skip


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays in the shape to which they broadcast together.

    Example:
        >>> [a.shape for a in broadcast_arrays(_tl.ones(2, 1), _tl.ones(3))]
        [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    return list(_tl.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array in a shape to which it broadcasts.

    Example:
        >>> broadcast_to(_tl.ones(2), (2, 2)).shape
        torch.Size([2, 2])
    """
    return _tl.broadcast_to(x, shape)


def _of_one_type(arrays: Sequence[Tensor]) -> list[Tensor]:
    common = result_type(*arrays)
    return [a.to(common) for a in arrays]


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays one after another along an axis; None flattens them first.

    Example:
        >>> concat([_tl.ones(1, 2), _tl.zeros(1)], axis=None)
        tensor([1., 1., 0.])
    """
    parts = _of_one_type(arrays)
    if axis is None:
        parts, axis = [a.reshape(-1) for a in parts], 0
    return _tl.cat(parts, dim=axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """The array with an axis of one element more.

    Example:
        >>> expand_dims(_tl.ones(2), 0).shape
        torch.Size([1, 2])
    """
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements in reverse order along some axes, or all.

    Example:
        >>> flip(_tl.tensor([1, 2, 3]))
        tensor([3, 2, 1])
    """
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return _tl.flip(x, axes)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Some axes at other positions, the others in their order.

    Args:
        x: the array.
        source: the axes to be moved.
        destination: where they go.

    Example:
        >>> moveaxis(_tl.ones(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    return _tl.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The axes in another order.

    Example:
        >>> permute_dims(_tl.ones(2, 3), (1, 0)).shape
        torch.Size([3, 2])
    """
    return x.permute(axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times; without an axis, of the array flattened.

    Args:
        x: the array.
        repeats: how often each element is repeated, a number or one for each.
        axis: the axis.

    Example:
        >>> repeat(_tl.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not isinstance(repeats, Tensor):
        return _tl.repeat_interleave(x, repeats, dim=axis)
    repeats = repeats.to(_tl.int64)
    if repeats.numel() == 1:
        repeats = repeats.reshape(1)
    return _tl.repeat_interleave(x, repeats.expand(x.shape[axis]), dim=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape.

    Args:
        x: the array.
        shape: the sizes.
        copy: whether the elements are copied: False refuses where a copy is needed, None copies then only.

    Raises:
        ValueError: a copy is forbidden, and needed.

    Example:
        >>> reshape(_tl.ones(2, 3), (3, 2), copy=True).shape
        torch.Size([3, 2])
    """
    result = x.reshape(shape)
    shares = result.data_ptr() == x.data_ptr()
    if copy is False and not shares:
        raise ValueError(
            f"reshape(): a view of shape {tuple(shape)} of this array isn't possible without a copy"
        )
    return result.clone() if copy and shares else result


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved along some axes, those that leave at the end come in at the beginning.

    Args:
        x: the array.
        shift: by how much elements move.
        axis: the axis.

    Example:
        >>> roll(_tl.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    if axis is None:
        return _tl.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return _tl.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """The array without some axes, of one element each.

    Raises:
        ValueError: one of them has another length.

    Example:
        >>> squeeze(_tl.ones(1, 2), 0).shape
        torch.Size([2])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    long = [a for a in axes if x.shape[a] != 1]
    if long:
        raise ValueError(f"squeeze(): axis {long[0]} has {x.shape[long[0]]} elements, expected one")
    return x.squeeze(axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays side by side along a new axis.

    Example:
        >>> stack([_tl.ones(2), _tl.zeros(2)]).shape
        torch.Size([2, 2])
    """
    return _tl.stack(_of_one_type(arrays), dim=axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array several times along each axis.

    Example:
        >>> tile(_tl.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    return _tl.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis.

    Example:
        >>> unstack(_tl.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(x.unbind(axis))

"""Arrays that are made."""

from __future__ import annotations

from typing import Any, Literal

import tl_core as _tl
from tl_core import _C
from tl_core._C import Tensor

from .promotion import result_type

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace",
           "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]  # fmt: skip


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Numbers in [start, stop) a step apart, from 0 if only one end is given.

    Args:
        start: the first number, or the end if `stop` is None.
        stop: the end, which is left out.
        step: the distance.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> arange(1, 7, 2)
        tensor([1, 3, 5])
    """
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        return _C.empty(0, dtype=dtype or _C.tensor([start, stop, step]).dtype, device=device)
    return _tl.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """An object as an array: a number, nested lists, a buffer, an array of another library.

    Args:
        obj: the object.
        dtype: of the array; by default, what fits the object.
        device: where it is to lie; by default, where an array lies already.
        copy: whether it must, may (None) or must not have memory of its own.

    Raises:
        ValueError: a copy is forbidden, and needed.

    Example:
        >>> asarray([[1, 2], [3, 4]], dtype=_C.float64)
        tensor([[1., 2.],
                [3., 4.]], dtype=torch.float64)
    """
    if device is None and isinstance(obj, Tensor):
        device = obj.device
    return _tl.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array with whatever its memory holds.

    Args:
        shape: the sizes.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> empty((2, 3)).shape
        torch.Size([2, 3])
    """
    return _C.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The same, of another array's shape.

    Args:
        x: the array.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> empty_like(_C.ones(2)).shape
        torch.Size([2])
    """
    return _C.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on a diagonal, `k` above the main one, among zeros.

    Args:
        n_rows: the number of rows.
        n_cols: the number of columns; None for as many.
        k: the diagonal of the ones, above the main one if positive.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]])
    """
    matrix = _C.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    if -n_rows < k < matrix.shape[1]:
        matrix.diagonal(k).fill_(1)
    return matrix


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The array of another library on the same memory, or a copy of it.

    Args:
        x: the array.
        device: the device of the result; None for the default one.
        copy: whether the elements are copied: False refuses where a copy is needed, None copies then only.

    Example:
        >>> from_dlpack(_C.ones(2))
        tensor([1., 1.])
    """
    return _tl.from_dlpack(x, device=device, copy=copy)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The same number everywhere.

    Args:
        shape: the sizes.
        fill_value: the value of all elements.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> full(2, 3.5)
        tensor([3.5000, 3.5000])
    """
    return _C.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The same, of another array's shape and type.

    Args:
        x: the array.
        fill_value: the value of all elements.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> full_like(_C.ones(2), 3)
        tensor([3., 3.])
    """
    return _C.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """Numbers at equal distances, from one to another.

    Args:
        start: the first.
        stop: the last, or the one after it.
        num: how many.
        dtype: of the array, floating or complex; the default type by default.
        device: where it is to lie.
        endpoint: whether `stop` is among them.

    Example:
        >>> linspace(0, 1, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return _tl.linspace(start, stop, num, dtype=dtype, device=device)
    return _tl.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num].clone()


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """The coordinates of a grid, from those along each axis.

    Example:
        >>> meshgrid(_C.tensor([1, 2]), _C.tensor([3, 4]))[0]
        tensor([[1, 2],
                [1, 2]])
    """
    if len(arrays) < 2:
        return [a.reshape(-1).clone() for a in arrays]
    common = result_type(*arrays)
    return list(_tl.meshgrid(*(a.to(common) for a in arrays), indexing=indexing))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones everywhere.

    Args:
        shape: the sizes.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> ones(2)
        tensor([1., 1.])
    """
    return _C.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The same, of another array's shape.

    Args:
        x: the array.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> ones_like(_C.zeros(2))
        tensor([1., 1.])
    """
    return _C.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above it.

    Example:
        >>> tril(_C.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return _C.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below it.

    Example:
        >>> triu(_C.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return _C.triu(x, k)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros everywhere.

    Args:
        shape: the sizes.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> zeros(2)
        tensor([0., 0.])
    """
    return _C.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The same, of another array's shape.

    Args:
        x: the array.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> zeros_like(_C.ones(2))
        tensor([0., 0.])
    """
    return _C.zeros_like(x, dtype=dtype, device=device)

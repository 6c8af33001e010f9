"""Numbers of storages: the storage that has a number of `_cdata`, as long as it lives."""

from __future__ import annotations

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["number_of", "tensor_of"]

_weak_numbers: dict[int, int] = {}  # of storages, by their numbers
_limit = 256  # of the entries, at which those of freed storages are removed


def number_of(tensor: Tensor) -> int:
    """The number of a tensor's storage, by which `tensor_of` finds it.

    Args:
        tensor: the tensor.

    Example:
        >>> from tl_core import ones
        >>> x = ones(2)
        >>> number_of(x) == number_of(x.view(2, 1)) != number_of(ones(2))
        True
    """
    global _limit
    number = int(_C._memory_of(tensor)[0])
    weak_number = _weak_numbers.get(number)
    if weak_number is not None:
        if _C._lock_weak_storage(weak_number) is not None:
            return number
        _C._drop_weak_storage(_weak_numbers.pop(number))
    if len(_weak_numbers) >= _limit:
        for key, value in list(_weak_numbers.items()):
            if _C._lock_weak_storage(value) is None:
                _C._drop_weak_storage(_weak_numbers.pop(key))
        _limit = max(256, 2 * len(_weak_numbers))
    _weak_numbers[number] = _C._weak_storage(tensor)
    return number


def tensor_of(number: int) -> Tensor | None:
    """The bytes of the storage with a number; None if no program has read it, or the storage is freed.

    Args:
        number: a number that `number_of` returned.

    Example:
        >>> from tl_core import ones
        >>> x = ones(2)
        >>> tensor_of(number_of(x)).numel(), tensor_of(1)
        (8, None)
    """
    weak_number = _weak_numbers.get(number)
    return None if weak_number is None else _C._lock_weak_storage(weak_number)

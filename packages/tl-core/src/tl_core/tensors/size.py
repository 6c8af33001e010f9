"""The sizes of a tensor."""

from __future__ import annotations

from typing import Any, SupportsIndex, overload

from tl_core import _C


class Size(tuple[int, ...]):
    """A tuple of ints that knows how many elements a tensor of these sizes has.

    >>> Size([2, 3]).numel()
    6
    """

    __slots__ = ()
    __module__ = "tl_core"

    def __new__(cls, sizes: Any = ()) -> Size:
        items = tuple(sizes)
        for i, item in enumerate(items):
            if not hasattr(item, "__index__"):
                raise TypeError(f"Size() takes an iterable of 'int' (item {i} is '{type(item).__name__}')")
        return tuple.__new__(
            cls, (item if hasattr(item, "__sym_hint__") else item.__index__() for item in items)
        )

    def numel(self) -> int:
        """The product of the sizes."""
        product = 1
        for size in self:
            product *= size
        return product

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return tuple.__new__(Size, item) if isinstance(index, slice) else item

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, other + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


_C._set_size_type(Size)

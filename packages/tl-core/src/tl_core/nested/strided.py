"""Nested tensors of the layout `torch.strided`: components of any sizes, one after the other in a buffer."""

from __future__ import annotations

import math
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap
from tl_core.nested.handlers import Handlers, plain
from tl_core.nested.printing import strided_text

__all__ = [
    "STRIDED",
    "StridedNestedTensor",
    "Placement",
    "as_strided_nested",
    "strided_from_tensors",
    "to_padded",
]

STRIDED = Handlers("strided nested", "nested tensors of the layout torch.strided")

Sizes = tuple[int, ...]
_AnyTensor: Any = Tensor  # for what its type does not show


def _contiguous_strides(size: Sizes) -> Sizes:
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


class Placement:
    """Where the components lie in the buffer: sizes, strides and offsets of each.

    Args:
        sizes: a row for each component.
        strides: a row for each.
        offsets: where each begins, int64, with the end.
        ndim: the dimensions of a component.
    """

    __slots__ = ("ndim", "offsets", "sizes", "strides")

    def __init__(self, sizes: Any, strides: Any = None, offsets: Any = None, ndim: int | None = None) -> None:
        self.sizes: tuple[Sizes, ...] = tuple(map(tuple, sizes))
        contiguous = strides is None
        self.strides: tuple[Sizes, ...] = tuple(
            map(_contiguous_strides if contiguous else tuple, strides or self.sizes)
        )
        if offsets is None:
            offsets, end = [], 0
            for size in self.sizes:
                offsets.append(end)
                end += math.prod(size)
        self.offsets: Sizes = tuple(offsets)
        self.ndim = ndim if ndim is not None else len(self.sizes[0]) if self.sizes else 0

    @property
    def numel(self) -> int:
        """The number of elements of all components."""
        return sum(map(math.prod, self.sizes))

    def is_contiguous(self) -> bool:
        """Whether the components lie one after the other, each in one piece."""
        other = Placement(self.sizes)
        return self.strides == other.strides and self.offsets == other.offsets

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and (self.sizes, self.strides, self.offsets) == (
            other.sizes,
            other.strides,
            other.offsets,
        )

    def __hash__(self) -> int:
        return hash((self.sizes, self.strides, self.offsets))

    def map(self, f: Any) -> Placement:
        """The same offsets, with f(size, strides) for each component."""
        pairs = [f(size, strides) for size, strides in zip(self.sizes, self.strides, strict=True)]
        sizes, strides = [p[0] for p in pairs], [p[1] for p in pairs]
        ndim = len(sizes[0]) if sizes else self.ndim
        result = Placement(sizes, strides, self.offsets, ndim)
        return result


def as_strided_nested(buffer: Tensor, placement: Placement) -> StridedNestedTensor:
    """The tensor itself, a fresh one of one dimension, from now on read as the buffer of a nested tensor."""
    if type(buffer) is Tensor:
        buffer.__class__ = StridedNestedTensor
    nested: Any = buffer
    nested._placement = placement
    return nested


def strided_from_tensors(tensors: list[Tensor], dtype: Any = None) -> StridedNestedTensor:
    """The components one after the other; gradients flow to them."""
    for i, t in enumerate(tensors[1:], 1):
        before = tensors[i - 1]
        if t.dim() != before.dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {t.dim()} for Tensor at index {i} and dimension {before.dim()} for Tensor at "
                f"index {i - 1}."
            )
    if not tensors:
        return as_strided_nested(_C.empty(0, dtype=dtype), Placement([]))
    placement = Placement([t.shape for t in tensors], ndim=tensors[0].dim())
    return as_strided_nested(_C.cat([t.reshape(-1) for t in tensors]), placement)


class StridedNestedTensor(Tensor):
    """A batch of tensors of different sizes, in one piece of memory.

    The object is the tensor of its buffer, which autograd sees as it is, read as a list of components.
    `nested_tensor` and `as_nested_tensor` make it. The layout `torch.jagged` has more operators.

    Example:
        >>> import tl_core as tl
        >>> from tl_core import nested
        >>> nested.nested_tensor([tl.tensor([[1, 2]]), tl.tensor([[3], [4]])])
        nested_tensor([
          tensor([[1, 2]]),
          tensor([[3],
                  [4]])
        ])
    """

    _placement: Placement

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return STRIDED.call(func, args, kwargs or {})

    def values(self) -> Tensor:
        """The buffer: a view of one dimension."""
        return plain(self)

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        """True."""
        return True

    @property
    def layout(self) -> Any:  # type: ignore[override]
        """`torch.strided`."""
        return _C.strided

    # ---- sizes ----
    def _nested_tensor_size(self) -> Tensor:
        return self._as_matrix(self._placement.sizes)

    def _nested_tensor_strides(self) -> Tensor:
        return self._as_matrix(self._placement.strides)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        return _C.tensor(list(self._placement.offsets), dtype=_C.int64)

    def _as_matrix(self, rows: Any) -> Tensor:
        return _C.tensor([list(r) for r in rows], dtype=_C.int64).reshape(len(rows), -1 if rows else 0)

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """RuntimeError: there is no shape; `size(dim)` gives the sizes that all components share."""
        return self.size()

    def size(self, dim: int | None = None) -> int:  # type: ignore[override]
        """The size of a dimension, if it is the same for all components."""
        if dim is None:
            raise RuntimeError(
                "NestedTensorImpl doesn't support sizes: the components of a nested tensor of the layout torch.strided "
                "differ; size(dim) gives those that agree"
            )
        d = wrap(dim, self.dim())
        if d == 0:
            return len(self)
        sizes = {size[d - 1] for size in self._placement.sizes}
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")
        return sizes.pop()

    def stride(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """RuntimeError: the components have strides of their own."""
        raise RuntimeError("NestedTensorImpl doesn't support strides: each component has strides of its own")

    def dim(self) -> int:
        """The number of dimensions: one more than the components have."""
        return self._placement.ndim + 1

    ndimension = dim

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """The number of dimensions."""
        return self.dim()

    def numel(self) -> int:
        """The number of elements of all components."""
        return self._placement.numel

    nelement = numel

    def __len__(self) -> int:
        return len(self._placement.sizes)

    def is_contiguous(self, memory_format: Any = _C.contiguous_format) -> bool:
        """Whether the components lie one after the other, each in one piece."""
        return self._placement.is_contiguous()

    def is_same_size(self, other: Any) -> bool:
        """Whether the components of both have the same sizes."""
        return isinstance(other, StridedNestedTensor) and self._placement.sizes == other._placement.sizes

    # ---- gradients ----
    @property
    def grad(self) -> Any:
        """The gradient that `backward` added up: a nested tensor of the same sizes."""
        return self.wrap_gradient(_raw(_AnyTensor.grad.__get__, self))

    @grad.setter
    def grad(self, value: Any) -> None:
        _raw(_AnyTensor.grad.__set__, self, value)

    def wrap_gradient(self, values: Tensor | None) -> Any:
        """What autograd hands out for this tensor's buffer, as a nested tensor."""
        if values is None or type(values) is not Tensor:
            return values
        return as_strided_nested(values, self._placement)

    # ---- components ----
    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """As `torch.nested.to_padded_tensor`."""
        return to_padded(self, padding, output_size)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return strided_text(self)

    __str__ = __repr__

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def tolist(self) -> Any:
        """The components as lists."""
        return [component.tolist() for component in self.unbind()]

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: a ragged array is none of numpy's."""
        raise RuntimeError("numpy() is not supported for nested tensors; a component of unbind() has it")


def _raw(method: Any, self: Tensor, *args: Any) -> Any:
    before = _C._set_overrides_disabled(True)
    try:
        return method(self, *args)
    finally:
        _C._set_overrides_disabled(before)


@STRIDED.of("unbind")
def components(self: StridedNestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the buffer, one a component."""
    if wrap(dim, self.dim()) != 0:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    p = self._placement
    if not p.is_contiguous():
        return tuple(_component(self, i) for i in range(len(self)))
    pieces = self.values().split_with_sizes([math.prod(size) for size in p.sizes])
    return tuple(piece.view(size) for piece, size in zip(pieces, p.sizes, strict=True))


def _component(self: StridedNestedTensor, i: int) -> Tensor:
    p, buffer = self._placement, self.values()
    return buffer.as_strided(p.sizes[i], p.strides[i], p.offsets[i] + buffer.storage_offset())


# ---- padded ----
@STRIDED.of("to_padded_tensor")
def to_padded(self: StridedNestedTensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The components as a dense tensor, filled up with `padding`.

    Args:
        padding: the value that fills up.
        output_size: the sizes of the result; None for the largest of each.
        out: a tensor that takes the result.
    """
    p = self._placement
    if not p.sizes:
        if output_size:
            return _C.full(tuple(output_size), padding, dtype=self.dtype)
        return self.values()
    if not p.is_contiguous():
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if p.numel == 0 and p.ndim:
        raise RuntimeError("at least one constituent tensor should have non-zero numel")
    largest = tuple(map(max, zip(*p.sizes, strict=True)))
    target = (len(self), *largest) if output_size is None else tuple(output_size)
    if len(target) != self.dim():
        raise RuntimeError(f"output_size must have {self.dim()} elements, got {list(target)}")
    if target[0] != len(self) and output_size is not None and target[0] < len(self):
        raise RuntimeError(f"output_size has {target[0]} components, but there are {len(self)}")
    if any(n < m for n, m in zip(target[1:], largest, strict=True)):
        raise RuntimeError(
            "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
        )
    rows = [_filled_up(c, target[1:], padding) for c in components(self)]
    padded = _C.stack(rows)
    return padded if out is None else out.resize_(padded.shape).copy_(padded)


def _filled_up(t: Tensor, size: Sizes, padding: float) -> Tensor:
    widths = [n for d in reversed(range(t.dim())) for n in (0, size[d] - t.shape[d])]
    return _C.constant_pad_nd(t, widths, padding) if widths else t

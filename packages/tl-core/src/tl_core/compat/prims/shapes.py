"""Views, copies and rearrangements of `prims`. Dimensions are counted from 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.compat import prims_common as utils

__all__ = ["rows"]


def rows() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The schemas of the operators, and their functions."""
    at = "SymInt[] size, SymInt[] stride, SymInt storage_offset"
    yield f"as_strided(Tensor(a!) a, {at}) -> Tensor(a!)", _as_strided
    yield f"as_strided_scatter(Tensor self, Tensor src, {at}) -> Tensor", _as_strided_scatter
    yield (
        "broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)",
        _broadcast_in_dim,
    )
    yield "cat(Tensor[] tensors, int dim) -> Tensor", _cat
    yield "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", _clone
    yield "collapse(Tensor a, int start, int end) -> Tensor", _collapse
    yield "collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)", _collapse_view
    yield "conj(Tensor(a) a) -> Tensor(a)", _conj
    yield "convert_element_type(Tensor a, ScalarType dtype) -> Tensor", _convert_element_type
    yield "copy_strided(Tensor a, SymInt[] stride) -> Tensor", _copy_strided
    yield "copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)", _copy_to
    yield "device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor", _device_put
    yield "imag(Tensor(a) self) -> Tensor(a)", _part("imag")
    yield "item(Tensor a) -> Scalar", _item
    yield "real(Tensor(a) self) -> Tensor(a)", _part("real")
    yield "reshape(Tensor a, SymInt[] shape) -> Tensor", _reshape
    yield "resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)", lambda a, shape: a.resize_(shape)
    yield "rev(Tensor a, int[] dims) -> Tensor", _rev
    yield "split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)", _split_dim
    yield "squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)", _squeeze
    yield "transpose(Tensor(a) a, int[] permutation) -> Tensor(a)", _transpose
    yield "view_of(Tensor(a) a) -> Tensor(a)", lambda a: a.view(a.shape)
    yield "view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)", lambda a, dtype: a.view(dtype)


def _check_dims(a: Tensor, dims: Sequence[int]) -> None:
    for dim in dims:
        if not 0 <= dim < max(a.dim(), 1):
            raise AssertionError(f"idx {dim} is out of bounds for rank {a.dim()}")


def _as_strided(a: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int) -> Tensor:
    needed = utils.compute_required_storage_length(size, stride, storage_offset)
    length = a.untyped_storage().nbytes() // a.element_size()
    if length < needed:
        raise ValueError(
            f"Can't view a storage of size {length} with an offset of {storage_offset}, shape of {size}, and strides "
            f"of {stride}, which requires a storage of size {needed}"
        )
    return a.as_strided(size, stride, storage_offset)


def _as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int
) -> Tensor:
    return tl_core.as_strided_scatter(self, src, size, stride, storage_offset)


def _broadcast_in_dim(a: Tensor, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Tensor:
    if len(broadcast_dimensions) != a.dim():
        raise AssertionError(
            f"broadcast_dimensions must have one entry for each of {a.dim()} dimensions, but got {broadcast_dimensions}"
        )
    previous = -1
    for dim, n in zip(broadcast_dimensions, a.shape, strict=True):
        if dim <= previous:
            raise AssertionError(f"broadcast_dimensions must be strictly ascending: {dim} <= {previous}")
        if dim >= len(shape):
            raise AssertionError(f"broadcast_dimensions has {dim}, but shape has {len(shape)} dimensions")
        if n not in (1, shape[dim]):
            raise AssertionError(
                f"shape[{dim}] must be {n}, or the dimension must have size 1, but got {shape[dim]}"
            )
        previous = dim
    view = a
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            view = view.unsqueeze(dim)
    return view.expand(shape)


def _cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    if dim < 0:
        raise AssertionError(f"dim must be non-negative, got {dim}")
    first = tensors[0]
    for i, other in enumerate(tensors):
        if other.dim() != first.dim():
            raise AssertionError(
                "All tensors must have the same number of dimensions. "
                f"Expected {first.dim()} but tensor {i} has {other.dim()}"
            )
    return tl_core.cat(list(tensors), dim)


def _clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    return self.clone(memory_format=tl_core.preserve_format if memory_format is None else memory_format)


def _collapsed_sizes(a: Tensor, start: int, end: int) -> list[int]:
    _check_dims(a, (start, end))
    if end < start:
        raise AssertionError(f"end must be >= start, but got {end} and {start}")
    if not a.dim():
        return [1]
    return [*a.shape[:start], math.prod(a.shape[start : end + 1]), *a.shape[end + 1 :]]


def _collapse(a: Tensor, start: int, end: int) -> Tensor:
    return a.reshape(_collapsed_sizes(a, start, end)).clone()


def _collapse_view(a: Tensor, start: int, end: int) -> Tensor:
    sizes = _collapsed_sizes(a, start, end)
    try:
        return a.view(sizes)
    except RuntimeError:
        raise RuntimeError("Attempting to view a collapsed tensor, but no such view exists!") from None


def _conj(a: Tensor) -> Tensor:
    if not a.is_complex():
        raise RuntimeError("Expected complex dtype in prims.conj")
    return a.conj()


def _convert_element_type(a: Tensor, dtype: Any) -> Tensor:
    return a.to(dtype, copy=True)


def _copy_strided(a: Tensor, stride: Sequence[int]) -> Tensor:
    result = tl_core.empty_strided(a.shape, stride, dtype=a.dtype, device=a.device)
    return result.copy_(a)


def _copy_to(a: Tensor, b: Tensor) -> Tensor:
    if a.numel() != b.numel():
        raise RuntimeError(f"Attempting to copy {b.numel()} elements to a tensor with {a.numel()} elements!")
    return a.copy_(b)


def _device_put(a: Tensor, device: Any, non_blocking: bool = False) -> Tensor:
    return a.to(device, non_blocking=non_blocking, copy=True)


def _item(a: Tensor) -> Any:
    return a.item()


def _part(name: str) -> Callable[[Tensor], Tensor]:
    def part(self: Tensor) -> Tensor:
        if not self.is_complex():
            raise RuntimeError("Only complex dtype is supported")
        result: Tensor = getattr(tl_core, name)(self)
        return result

    return part


def _reshape(a: Tensor, shape: Sequence[int]) -> Tensor:
    count = math.prod(shape)
    if count != a.numel():
        raise ValueError(
            f"Attempting to reshape a tensor with {a.numel()} elements to a shape with {count} elements!"
        )
    return a.reshape(shape).clone(memory_format=tl_core.contiguous_format)


def _rev(a: Tensor, dims: Sequence[int]) -> Tensor:
    return tl_core.flip(a, list(dims))


def _split_dim(a: Tensor, dim: int, outer_length: int) -> Tensor:
    _check_dims(a, (dim,))
    length = a.shape[dim]
    if length % outer_length:
        raise ValueError(
            f"Attempting to split dimension of length {length}, but outer length of {outer_length} divides it with a "
            "remainder!"
        )
    return a.view([*a.shape[:dim], outer_length, length // outer_length, *a.shape[dim + 1 :]])


def _squeeze(a: Tensor, dimensions: Sequence[int]) -> Tensor:
    _check_dims(a, dimensions)
    for dim in dimensions:
        if a.shape[dim] != 1:
            raise AssertionError(f"Cannot squeeze dimension {dim} with size {a.shape[dim]} (must be 1)")
    return a.squeeze(tuple(dimensions))


def _transpose(a: Tensor, permutation: Sequence[int]) -> Tensor:
    if len(permutation) != a.dim():
        raise ValueError(
            f"Attempting to permute a tensor of rank {a.dim()}, but received a permutation of length "
            f"{len(permutation)}!"
        )
    if sorted(permutation) != list(range(a.dim())):
        raise ValueError(f"Received an invalid permutation, {list(permutation)}!")
    return a.permute(list(permutation))

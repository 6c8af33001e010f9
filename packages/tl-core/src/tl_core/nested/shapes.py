"""Views and rearrangements of jagged nested tensors."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap
from tl_core.nested.nested_int import NestedInt
from tl_core.nested.pointwise import same_structure
from tl_core.nested.ragged import Ragged, offsets_of
from tl_core.nested.tensor import JAGGED, NestedTensor, as_nested

__all__: list[str] = []


def _inner_dim(name: str, self: NestedTensor, dim: int) -> int:
    """A dimension that is neither the batch nor ragged, in the values."""
    d = wrap(dim, self.dim())
    if d == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if d == self._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return d - 1


def _like(values: Tensor, self: NestedTensor, ragged_idx: int | None = None) -> NestedTensor:
    return as_nested(values, self._ragged, self._ragged_idx if ragged_idx is None else ragged_idx)


def _ints(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """`view(2, 3)` and `view((2, 3))` alike."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes


# ---- components ----
@JAGGED.of("unbind")
def _unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
    if wrap(dim, self.dim()) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    ragged, d = self._ragged, self._ragged_idx - 1
    values = self.values()
    if ragged.lengths is None:
        return tuple(values.split_with_sizes(ragged.counts, d))
    return tuple(values.narrow(d, start, n) for start, n in zip(ragged.starts, ragged.counts, strict=True))


def _component(self: NestedTensor, index: int) -> Tensor:
    ragged, n = self._ragged, len(self)
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
    i = index % n
    return self.values().narrow(self._ragged_idx - 1, ragged.starts[i], ragged.counts[i])


@JAGGED.of("select")
def _select(self: Any, dim: int, index: int) -> Any:
    if wrap(dim, self.dim()) == 0:
        return _component(self, index)
    d = _inner_dim("select", self, dim)
    return _like(self.values().select(d, index), self, self._ragged_idx - (d < self._ragged_idx - 1))


def _of_some_components(self: NestedTensor, indices: list[int]) -> NestedTensor:
    """A nested tensor of components from one to another, a view where they are neighbours."""
    ragged, at = self._ragged, self._ragged_idx
    first, last = (indices[0], indices[-1] + 1) if indices else (0, 0)
    if indices != list(range(first, last)):
        d = at - 1
        parts = [self.values().narrow(d, ragged.starts[i], ragged.counts[i]) for i in indices]
        lengths = ragged.length_tensor[_C.tensor(indices)]
        return as_nested(_C.cat(parts, d), Ragged(offsets_of(lengths)), at)
    ends = [*ragged.starts, int(ragged.offsets[-1])]
    values = self.values().narrow(at - 1, ends[first], ends[last] - ends[first])
    offsets = ragged.offsets[first : last + 1] - ends[first]
    some = None if ragged.lengths is None else ragged.lengths[first:last]
    return as_nested(values, Ragged(offsets, some), at)


@JAGGED.of("__getitem__")
def _getitem(self: Any, index: Any) -> Any:
    indices = index if isinstance(index, tuple) else (index,)
    if any(i is Ellipsis for i in indices):
        at = next(k for k, i in enumerate(indices) if i is Ellipsis)
        count = sum(i is not None and i is not Ellipsis for i in indices)
        fill = (slice(None),) * (self.dim() - count)
        indices = indices[:at] + fill + indices[at + 1 :]
    if indices and isinstance(indices[0], int) and not isinstance(indices[0], bool):
        component = _component(self, indices[0])
        return component[indices[1:]] if len(indices) > 1 else component
    if any(isinstance(i, (Tensor, list, bool)) for i in indices):
        raise NotImplementedError(
            "__getitem__(): tensors, lists and masks do not index nested tensors; index_select() takes components"
        )
    return _apply_indices(self, indices)


def _apply_indices(self: NestedTensor, indices: tuple[Any, ...]) -> NestedTensor:
    result: Any = self
    d = 0
    for i in indices:
        if i is None:
            result, d = result.unsqueeze(d), d + 1
        elif isinstance(i, int):
            result = result.select(d, i)
        else:
            result, d = _slice(result, d, i), d + 1
    return result


def _slice(self: NestedTensor, dim: int, i: slice) -> NestedTensor:
    if i == slice(None):
        return self
    if dim == 0:
        return _of_some_components(self, list(range(*i.indices(len(self)))))
    d = _inner_dim("slice", self, dim)
    return _like(self.values()[(slice(None),) * d + (i,)], self)


@JAGGED.of("narrow")
def _narrow(self: Any, dim: int, start: int, length: int) -> NestedTensor:
    if wrap(dim, self.dim()) == 0:
        n = len(self)
        start = start + n if start < 0 else start
        if not (start >= 0 and length >= 0 and start + length <= n):
            raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
        return _of_some_components(self, list(range(start, start + length)))
    return _like(self.values().narrow(_inner_dim("narrow", self, dim), start, length), self)


@JAGGED.of("index_select")
def _index_select(self: Any, dim: int, index: Tensor) -> NestedTensor:
    if wrap(dim, self.dim()) == 0:
        return _of_some_components(self, index.tolist())
    return _like(self.values().index_select(_inner_dim("index_select", self, dim), index), self)


@JAGGED.of("chunk")
def _chunk(self: Any, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    if wrap(dim, self.dim()) != 0:
        parts = self.values().chunk(chunks, _inner_dim("chunk", self, dim))
        return tuple(_like(part, self) for part in parts)
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    step = max(-(-len(self) // chunks), 1)
    return _parts(self, [min(step, len(self) - i) for i in range(0, len(self), step)])


def _parts(self: NestedTensor, sizes: list[int]) -> tuple[NestedTensor, ...]:
    begins = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(_of_some_components(self, list(range(b, b + n))) for b, n in zip(begins, sizes, strict=True))


@JAGGED.of("split", "split_with_sizes")
def _split(self: Any, split_size_or_sections: Any = None, dim: int = 0, **kwargs: Any) -> Any:
    sizes = kwargs.get("split_size", kwargs.get("split_sizes", split_size_or_sections))
    if wrap(dim, self.dim()) != 0:
        parts = self.values().split(sizes, _inner_dim("split", self, dim))
        return tuple(_like(part, self) for part in parts)
    n = len(self)
    if isinstance(sizes, int):
        sizes = [min(sizes, n - i) for i in range(0, n, sizes)]
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n}, but got {list(sizes)}"
        )
    return _parts(self, list(sizes))


# ---- another order or number of dimensions ----
@JAGGED.of("transpose", "swapaxes", "swapdims")
def _transpose(self: Any, dim0: int, dim1: int) -> NestedTensor:
    a, b = wrap(dim0, self.dim()), wrap(dim1, self.dim())
    if a == b:
        return _like(self.values(), self)
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    at = self._ragged_idx
    moved = {a: b, b: a}.get(at, at)
    return _like(self.values().transpose(a - 1, b - 1), self, moved)


@JAGGED.of("permute")
def _permute(self: Any, *dims: Any, **kwargs: Any) -> NestedTensor:
    order = [wrap(d, self.dim()) for d in _ints(dims or (kwargs["dims"],))]
    if sorted(order) != list(range(self.dim())):
        raise RuntimeError(f"permute(): the dims {order} are no order of {self.dim()} dimensions")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    values = self.values().permute([d - 1 for d in order[1:]])
    return _like(values, self, order.index(self._ragged_idx))


@JAGGED.of("movedim", "moveaxis")
def _movedim(self: Any, source: Any, destination: Any) -> NestedTensor:
    one = isinstance(source, int)
    sources = [wrap(d, self.dim()) for d in ([source] if one else source)]
    targets = [wrap(d, self.dim()) for d in ([destination] if one else destination)]
    rest = iter(d for d in range(self.dim()) if d not in sources)
    order = [sources[targets.index(d)] if d in targets else next(rest) for d in range(self.dim())]
    return _permute(self, order)


@JAGGED.of("unsqueeze")
def _unsqueeze(self: Any, dim: int) -> NestedTensor:
    d = wrap(dim, self.dim() + 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    at = self._ragged_idx
    return _like(self.values().unsqueeze(d - 1), self, at + (d <= at))


@JAGGED.of("squeeze")
def _squeeze(self: Any, dim: Any = None) -> NestedTensor:
    if dim is None:
        dims = [d + 1 for d, n in enumerate(self.values().shape) if n == 1 and d != self._ragged_idx - 1]
    else:
        dims = [wrap(d, self.dim()) for d in ([dim] if isinstance(dim, int) else dim)]
    inner = [_inner_dim("squeeze", self, d) for d in dims]
    sizes = self.values().shape
    before = sum(d < self._ragged_idx - 1 and sizes[d] == 1 for d in inner)
    return _like(self.values().squeeze(tuple(inner)), self, self._ragged_idx - before)


@JAGGED.of("flatten")
def _flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    a, b = wrap(start_dim, self.dim()), wrap(end_dim, self.dim())
    if a == b:
        return self
    if a == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    at = self._ragged_idx
    if a <= at <= b:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    return _like(self.values().flatten(a - 1, b - 1), self, at - (b - a if b < at else 0))


@JAGGED.of("unflatten")
def _unflatten(self: Any, dim: int, sizes: Any) -> NestedTensor:
    d = _inner_dim("unflatten", self, dim)
    more = len(sizes) - 1
    return _like(
        self.values().unflatten(d, sizes), self, self._ragged_idx + (more if d < self._ragged_idx - 1 else 0)
    )


def _values_shape(name: str, self: NestedTensor, shape: tuple[Any, ...]) -> tuple[list[int], int]:
    """The values' sizes for a new shape of the nested tensor, and where its ragged dimension is then."""

    def refuse() -> RuntimeError:
        return RuntimeError(
            f"{name}(): cannot view shape ({', '.join(map(str, self.shape))}) as {list(shape)}: the batch must stay "
            "first, and the ragged dimension as it is"
        )

    if not shape or shape[0] not in (-1, len(self)):
        raise refuse()
    ragged = [k for k, n in enumerate(shape) if isinstance(n, NestedInt)]
    rows = self.values().shape[self._ragged_idx - 1]
    if len(ragged) == 1 and shape[ragged[0]] == self._ragged.size:
        at = ragged[0]
    else:
        inferred = [k for k, n in enumerate(shape) if k > 0 and n == -1]
        if ragged or not inferred:
            raise refuse()
        at = _ragged_position(self, shape, inferred)
        if at < 0:
            raise refuse()
    sizes = [rows if k == at else n for k, n in enumerate(shape) if k > 0]
    return sizes, at


def _ragged_position(self: NestedTensor, shape: tuple[Any, ...], inferred: list[int]) -> int:
    """Which -1 stands for the ragged dimension: the one behind as many elements as the ragged dimension is."""
    before = 1
    for n in self.values().shape[: self._ragged_idx - 1]:
        before *= n
    for k in inferred:
        product = 1
        for n in shape[1:k]:
            product *= n
        if product == before:
            return k
    return -1


@JAGGED.of("view", "reshape")
def _view(self: Any, *shape: Any, **kwargs: Any) -> NestedTensor:
    target = _ints(shape or tuple(kwargs.values()))
    if len(target) == 1 and isinstance(target[0], _C.dtype):
        return _like(self.values().view(target[0]), self)
    sizes, at = _values_shape("view", self, target)
    if at == len(target) - 1 or -1 not in sizes:
        return _like(self.values().reshape(sizes), self, at)
    return _like(
        self.values().view(sizes) if self.is_contiguous() else self.values().reshape(sizes), self, at
    )


@JAGGED.of("view_as", "reshape_as")
def _view_as(self: Any, other: Tensor) -> NestedTensor:
    return _view(self, *other.shape)


@JAGGED.of("expand")
def _expand(self: Any, *sizes: Any, **kwargs: Any) -> NestedTensor:
    target = _ints(sizes or (kwargs["size"],))
    if len(target) != self.dim() or target[0] not in (-1, len(self)):
        raise RuntimeError(
            f"expand(): a nested tensor of shape {self.shape} cannot be expanded to {list(target)}"
        )
    inner = [-1 if d == self._ragged_idx else n for d, n in enumerate(target) if d > 0]
    at = target[self._ragged_idx]
    if at != -1 and at != self._ragged.size:
        raise RuntimeError(f"expand(): the ragged size {self._ragged.size} cannot become {at}")
    return _like(self.values().expand(inner), self)


@JAGGED.of("expand_as")
def _expand_as(self: Any, other: Any) -> NestedTensor:
    return _expand(self, *other.shape)


@JAGGED.of("repeat")
def _repeat(self: Any, *repeats: Any) -> NestedTensor:
    times = _ints(repeats)
    if len(times) != self.dim() or times[0] != 1 or times[self._ragged_idx] != 1:
        raise RuntimeError(
            f"repeat(): not supported for NestedTensor on the batch or ragged dim, got {list(times)}"
        )
    return _like(self.values().repeat(times[1:]), self)


@JAGGED.of("flip")
def _flip(self: Any, *dims: Any) -> NestedTensor:
    return _like(self.values().flip([_inner_dim("flip", self, d) for d in _ints(dims)]), self)


@JAGGED.of("roll")
def _roll(self: Any, shifts: Any, dims: Any) -> NestedTensor:
    axes = [dims] if isinstance(dims, int) else dims
    return _like(self.values().roll(shifts, [_inner_dim("roll", self, d) for d in axes]), self)


# ---- several ----
@JAGGED.of("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> NestedTensor:
    if wrap(dim, tensors[0].dim()) == 0:
        return _cat_batches(list(tensors))
    like = same_structure("cat", _all_nested("cat", tensors))
    d = _inner_dim("cat", like, dim)
    return _like(_C.cat([t.values() for t in tensors], d), like)


def _all_nested(name: str, tensors: Any) -> tuple[Any, ...]:
    for t in tensors:
        if not isinstance(t, NestedTensor):
            raise RuntimeError(f"{name}(): expected each tensor in given list to be nested")
    return tuple(tensors)


def _cat_batches(tensors: list[Any]) -> NestedTensor:
    _all_nested("cat", tensors)
    at = tensors[0]._ragged_idx
    if any(t._ragged_idx != at for t in tensors):
        raise RuntimeError("cat(): the nested tensors have their ragged dimensions at different places")
    compact = [t.contiguous() if t._ragged.lengths is not None else t for t in tensors]
    lengths = _C.cat([t._ragged.length_tensor for t in compact])
    return as_nested(_C.cat([t.values() for t in compact], at - 1), Ragged(offsets_of(lengths)), at)


@JAGGED.of("stack")
def _stack(tensors: Any, dim: int = 0) -> NestedTensor:
    like = same_structure("stack", _all_nested("stack", tensors))
    d = wrap(dim, like.dim() + 1)
    if d == 0:
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0")
    at = like._ragged_idx
    return _like(_C.stack([t.values() for t in tensors], d - 1), like, at + (d <= at))


@JAGGED.of("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor")
def _new(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    raise RuntimeError(
        "new_empty(): not supported for nested tensors, whose structure the result would not have; "
        "empty_like() and values().new_empty() make what is meant"
    )


@JAGGED.of("gather", "scatter", "take_along_dim")
def _gather(self: Any, dim: int, index: Any, **kwargs: Any) -> NestedTensor:
    like = same_structure("gather", (self, index))
    return _like(_C.gather(self.values(), _inner_dim("gather", like, dim), index.values(), **kwargs), like)


def _flat_indices(self: NestedTensor, indices: Any) -> tuple[Tensor, ...]:
    """Indices of batch, row, ... as those of the values."""
    if self._ragged_idx != 1 or len(indices) < 2 or not all(isinstance(i, Tensor) for i in indices[:2]):
        raise RuntimeError(
            "index_put(): nested tensors take indices of the batch and of the ragged dimension first"
        )
    batch, row, *inner = indices
    if bool((row >= self._ragged.length_tensor[batch]).any()):
        raise IndexError("index_put(): an index of the ragged dimension exceeds its component's length")
    return (self._ragged.offsets[:-1][batch] + row, *inner)


@JAGGED.of("index_put")
def _index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> NestedTensor:
    return _like(self.values().index_put(_flat_indices(self, indices), values, accumulate), self)


@JAGGED.of("index_put_")
def _index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> NestedTensor:
    self.values().index_put_(_flat_indices(self, indices), values, accumulate)
    return self

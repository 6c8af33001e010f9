"""What answers for operators on nested tensors of the layout `torch.strided`."""

from __future__ import annotations

import math
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap
from tl_core.nested.handlers import as_it_is
from tl_core.nested.pointwise import OF_THE_LANGUAGE, PLAIN, POINTWISE
from tl_core.nested.strided import (
    STRIDED,
    Placement,
    StridedNestedTensor,
    as_strided_nested,
    components,
    strided_from_tensors,
)
from tl_core.tensors.parameter import as_leaf

__all__: list[str] = []

# Pointwise operators that take components in any arrangement, though they have one input.
_ANY_ARRANGEMENT = frozenset(
    {
        "clone",
        "detach",
        "detach_",
        "requires_grad_",
        "dropout",
        "masked_fill",
        "where",
        "zero_",
        "cpu",
        "cuda",
        "type_as",
    }
)


# ---- element by element ----
def _pointwise(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = operator.__name__
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name}(): nested tensors of the layout torch.strided take no out=")
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    nested = [t for t in tensors if isinstance(t, StridedNestedTensor)]
    for t in tensors:
        if not isinstance(t, StridedNestedTensor) and t.dim() > 0:
            return _with_dense(operator, args, kwargs, t)
    first = nested[0]
    _check_inplace(name, args, first)
    if len(tensors) == 1:
        return _of_one(operator, first, args, kwargs)
    placement = _common_placement(name, nested)
    if placement is None:
        return _each(operator, args, kwargs, inplace=_writes(name))
    return _with(placement, operator(*args, **kwargs))


def _with(placement: Placement, result: Any) -> Any:
    if type(result) is Tensor:
        return as_strided_nested(result, placement)
    return tuple(_with(placement, m) for m in result) if isinstance(result, tuple) else result


def _of_one(operator: Any, self: StridedNestedTensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    p = self._placement
    if not p.is_contiguous():
        number = any(isinstance(a, (int, float, complex)) for a in args)
        if not number and operator.__name__ not in _ANY_ARRANGEMENT and "like" not in operator.__name__:
            raise RuntimeError(
                f"{operator.__name__}(): NestedTensor must be contiguous to get buffer. contiguous() makes it so"
            )
        if _is_sparse_in_buffer(self):
            return _each(operator, args, kwargs)
    return _with(p, operator(*args, **kwargs))


def _writes(name: str) -> bool:
    """Whether the operator changes its first argument."""
    return name.startswith("__i") and name != "__invert__" if name.startswith("__") else name.endswith("_")


def _check_inplace(name: str, args: tuple[Any, ...], first: StridedNestedTensor) -> None:
    if _writes(name) and not isinstance(args[0], StridedNestedTensor):
        raise RuntimeError(
            f"{name}(): output with shape [] doesn't match the broadcast shape [{len(first)}, ...] of a nested tensor"
        )


def _common_placement(name: str, nested: list[StridedNestedTensor]) -> Placement | None:
    """Where all components lie, if the buffers can be taken as they are; None if they are arranged differently."""
    first = nested[0]
    p = first._placement
    for other in nested[1:]:
        q = other._placement
        if q.sizes != p.sizes:
            raise RuntimeError(
                f"{name}(): expected both nested tensors to have components of the same sizes, got {list(p.sizes)} and "
                f"{list(q.sizes)}"
            )
        if name in ("div", "true_divide", "divide", "__truediv__"):
            if q.strides != p.strides:
                raise RuntimeError("div requires strides to match when given NestedTensors")
            if q.offsets != p.offsets:
                raise RuntimeError("div requires offsets to match when given NestedTensors")
        if q != p or _is_sparse_in_buffer(other):
            return None
    return None if _is_sparse_in_buffer(first) else p


def _is_sparse_in_buffer(self: StridedNestedTensor) -> bool:
    """Whether the buffer holds more than the components."""
    return self.values().numel() != self.numel()


def _each(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool = False) -> Any:
    """The operator on each component."""
    n = next(len(a) for a in (*args, *kwargs.values()) if isinstance(a, StridedNestedTensor))

    def at(a: Any, parts: dict[int, Any], i: int) -> Any:
        return parts[id(a)][i] if id(a) in parts else a

    parts = {id(a): components(a) for a in (*args, *kwargs.values()) if isinstance(a, StridedNestedTensor)}
    results = [
        operator(*(at(a, parts, i) for a in args), **{k: at(a, parts, i) for k, a in kwargs.items()})
        for i in range(n)
    ]
    return args[0] if inplace else strided_from_tensors(results)


def _with_dense(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dense: Tensor) -> Any:
    """(B, *, D) with a dense (B, 1, D): component by component."""
    nested = next(a for a in (*args, *kwargs.values()) if isinstance(a, StridedNestedTensor))
    if (
        dense.dim() != nested.dim()
        or dense.shape[0] != len(nested)
        or (args[0] is dense and _writes(operator.__name__))
    ):
        first = (
            "nested self and non-nested other" if args[0] is not dense else "non-nested self and nested other"
        )
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a {first}: {operator.__name__}() of a nested tensor "
            f"of {len(nested)} components and {nested.dim()} dimensions, and a dense one of shape {tuple(dense.shape)}"
        )
    rows = dense.unbind()
    results = []
    for i, c in enumerate(components(nested)):
        pick = {id(nested): c, id(dense): rows[i]}
        results.append(
            operator(
                *(pick.get(id(a), a) for a in args), **{k: pick.get(id(a), a) for k, a in kwargs.items()}
            )
        )
    return strided_from_tensors(results)


STRIDED.of_all(POINTWISE, _pointwise)
STRIDED.of_all([f"{name}_" for name in POINTWISE if name[-1] != "_"], _pointwise)
STRIDED.of_all(OF_THE_LANGUAGE, _pointwise)
STRIDED.of_all(PLAIN, as_it_is)


def _backward(self: StridedNestedTensor, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    """As `Tensor.backward`; the gradient's components may be arranged in another way."""
    if isinstance(gradient, StridedNestedTensor):
        gradient = _arranged_as(gradient, self)
    values: Any = self.values()
    values.backward(gradient, *args, **kwargs)


setattr(StridedNestedTensor, "backward", _backward)  # noqa: B010


def _arranged_as(gradient: StridedNestedTensor, like: StridedNestedTensor) -> Tensor:
    """The gradient's elements where those of `like` lie in its buffer."""
    if not gradient.is_same_size(like):
        raise RuntimeError("backward(): the gradient's components have other sizes than the tensor's")
    if gradient._placement == like._placement:
        return gradient.values()
    target = as_strided_nested(_C.zeros_like(like.values()), like._placement)
    return _copy_(target, gradient).values()


@STRIDED.of("fill_")
def _fill_(self: StridedNestedTensor, value: Any) -> StridedNestedTensor:
    if isinstance(value, Tensor) and value.dim() > 0:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions"
        )
    self.values().fill_(value)
    return self


@STRIDED.of("clone")
def _clone(self: StridedNestedTensor, *, memory_format: Any = _C.preserve_format) -> StridedNestedTensor:
    if memory_format not in (_C.preserve_format, _C.contiguous_format):
        name = {"channels_last": "ChannelsLast", "channels_last_3d": "ChannelsLast3d"}
        format_name = name.get(str(memory_format).removeprefix("torch."), str(memory_format))
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            f"{format_name}"
        )
    if memory_format is _C.contiguous_format or _is_sparse_in_buffer(self):
        return strided_from_tensors(list(components(self)), self.dtype)
    return as_strided_nested(self.values().clone(), self._placement)


@STRIDED.of("contiguous")
def contiguous(self: StridedNestedTensor, memory_format: Any = _C.contiguous_format) -> StridedNestedTensor:
    """The components one after the other; the tensor itself if they are."""
    return self if self.is_contiguous() else strided_from_tensors(list(components(self)), self.dtype)


@STRIDED.of("to")
def _to(self: StridedNestedTensor, *args: Any, **kwargs: Any) -> StridedNestedTensor:
    if not isinstance(self, StridedNestedTensor):
        raise RuntimeError(
            "to(): a dense tensor cannot be converted like a nested one; pass dtype and device"
        )
    like = [a.values() if isinstance(a, StridedNestedTensor) else a for a in args]
    converted = self.values().to(*like, **kwargs)
    values = converted.untyped_storage().data_ptr() == self.values().untyped_storage().data_ptr()
    same = converted.dtype == self.dtype and converted.device == self.device and not kwargs.get("copy")
    return self if same and values else as_strided_nested(converted, self._placement)


@STRIDED.of("empty_like")
def _empty_like(
    self: StridedNestedTensor, *, memory_format: Any = None, layout: Any = None, **kwargs: Any
) -> Any:
    if memory_format not in (None, _C.preserve_format, _C.contiguous_format):
        raise RuntimeError(f"empty_like(): nested tensors have no memory format {memory_format}")
    keep = memory_format is not _C.contiguous_format and not _is_sparse_in_buffer(self)
    placement = self._placement if keep else Placement(self._placement.sizes, ndim=self._placement.ndim)
    kwargs.setdefault("dtype", self.dtype)
    kwargs.setdefault("device", self.device)
    requires_grad = kwargs.pop("requires_grad", False)
    result = as_strided_nested(_C.empty(self.numel(), **kwargs), placement)
    return as_leaf(result, requires_grad)


@STRIDED.of("copy_")
def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not (isinstance(self, StridedNestedTensor) and self.is_same_size(src)):
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    for to, c in zip(components(self), components(src), strict=True):
        to.copy_(c)
    return self


@STRIDED.of("equal")
def _equal(self: Any, other: Any) -> bool:
    if not isinstance(self, StridedNestedTensor) or not self.is_same_size(other):
        return False
    return all(_C.equal(a, b) for a, b in zip(components(self), components(other), strict=True))


# ---- parts ----
@STRIDED.of("__getitem__")
def _getitem(self: StridedNestedTensor, index: Any) -> Any:
    if index is Ellipsis:
        return as_strided_nested(self.values(), self._placement)
    indices = index if isinstance(index, tuple) else (index,)
    if not indices or not isinstance(indices[0], int) or isinstance(indices[0], bool):
        raise NotImplementedError(
            "__getitem__(): a nested tensor of the layout torch.strided is indexed by the number of a component, and "
            f"then as a dense one, got {index!r}"
        )
    n = len(self)
    if not -n <= indices[0] < n:
        raise IndexError(f"index {indices[0]} is out of bounds for dimension 0 with size {n}")
    component = components(self)[indices[0]]
    return component[indices[1:]] if len(indices) > 1 else component


@STRIDED.of("select")
def _select(self: StridedNestedTensor, dim: int, index: int) -> Any:
    d = wrap(dim, self.dim())
    if d == 0:
        return _getitem(self, index)
    return strided_from_tensors([c.select(d - 1, index) for c in components(self)])


def _check_last(name: str, message: str, self: StridedNestedTensor, dim: int) -> int:
    """The size of the last dimension, which `dim` must be."""
    if wrap(dim, self.dim()) != self.dim() - 1:
        raise RuntimeError(
            f"{message} for nested tensors is currently only supported for the last dimension."
        )
    if not self.is_contiguous():
        raise RuntimeError(f"{name} expects `self` to be contiguous.")
    return self.size(-1)


def _split_last(self: StridedNestedTensor, sizes: list[int]) -> tuple[StridedNestedTensor, ...]:
    parts, begin = [], 0
    for n in sizes:
        p = self._placement
        offsets = [o + begin for o in p.offsets]
        part = Placement([(*s[:-1], n) for s in p.sizes], p.strides, offsets, p.ndim)
        parts.append(as_strided_nested(self.values(), part))
        begin += n
    return tuple(parts)


@STRIDED.of("chunk")
def _chunk(self: StridedNestedTensor, chunks: int, dim: int = 0) -> tuple[StridedNestedTensor, ...]:
    last = _check_last("chunk", "Chunk", self, dim)
    if chunks < 1 or last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks."
            f" Got {last} and {chunks}"
        )
    return _split_last(self, [last // chunks] * chunks)


@STRIDED.of("split_with_sizes", "split")
def _split(self: StridedNestedTensor, split_sizes: Any, dim: int = 0) -> tuple[StridedNestedTensor, ...]:
    last = _check_last("split_with_sizes", "split_with_sizes", self, dim)
    if isinstance(split_sizes, int):
        split_sizes = [min(split_sizes, last - i) for i in range(0, last, split_sizes)]
    if sum(split_sizes) != last:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {last} (input tensor's size at dimension -1), but "
            f"got split_sizes={list(split_sizes)}"
        )
    return _split_last(self, list(split_sizes))


@STRIDED.of("narrow")
def _narrow(self: StridedNestedTensor, dim: int, start: int, length: int) -> StridedNestedTensor:
    if wrap(dim, self.dim()) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got dim={dim}")
    if not self.is_contiguous():
        raise RuntimeError("narrow(): only contiguous nested tensors supported")
    if not 0 <= start <= start + length <= len(self):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({len(self)}).")
    sizes = self._placement.sizes
    begin = sum(map(math.prod, sizes[:start]))
    placement = Placement(sizes[start : start + length], ndim=self._placement.ndim)
    return as_strided_nested(self.values()[begin : begin + placement.numel], placement)


# ---- another shape ----
def _rearrange(self: StridedNestedTensor, f: Any) -> StridedNestedTensor:
    """Views of the components: f(list of sizes or strides) rearranges either."""
    return as_strided_nested(
        self.values(), self._placement.map(lambda n, s: (tuple(f(list(n))), tuple(f(list(s)))))
    )


@STRIDED.of("transpose", "swapaxes", "swapdims")
def _transpose(self: StridedNestedTensor, dim0: int, dim1: int) -> StridedNestedTensor:
    a, b = wrap(dim0, self.dim()), wrap(dim1, self.dim())
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")

    def swap(n: list[int]) -> list[int]:
        n[a - 1], n[b - 1] = n[b - 1], n[a - 1]
        return n

    return _rearrange(self, swap)


@STRIDED.of("squeeze")
def _squeeze(self: StridedNestedTensor, dim: Any = None) -> StridedNestedTensor:
    if dim is None:
        raise RuntimeError(
            "For nested tensors, squeeze without the dim argument is ambiguous and not supported; give dim"
        )
    d = wrap(dim, self.dim())
    if d == 0:
        raise RuntimeError("For nested tensors, squeezing dimension 0 is not supported; use unbind()")
    if self.dim() == 2:
        raise RuntimeError(
            "For nested tensors, squeezing a nested tensor of singleton tensors is not supported"
        )
    if any(size[d - 1] != 1 for size in self._placement.sizes):
        return self
    return _rearrange(self, lambda n: n[: d - 1] + n[d:])


@STRIDED.of("unsqueeze")
def _unsqueeze(self: StridedNestedTensor, dim: int) -> StridedNestedTensor:
    d = wrap(dim, self.dim() + 1)
    if d == 0:
        raise RuntimeError("For nested tensors, unsqueezing dimension 0 is not supported")

    def of(size: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        step = size[d - 1] * strides[d - 1] if d - 1 < len(size) else 1
        return (*size[: d - 1], 1, *size[d - 1 :]), (*strides[: d - 1], step, *strides[d - 1 :])

    return as_strided_nested(self.values(), self._placement.map(of))


def _new_sizes(name: str, self: StridedNestedTensor, target: tuple[int, ...]) -> list[tuple[int, ...]]:
    if not target:
        raise RuntimeError(f"shape '[]' is invalid for a nested tensor: {name}")
    if not len(self):
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if target[0] != len(self):
        if -1 in target:
            raise RuntimeError(
                f"{name}: For now nested {name} cannot change or infer the implicit batch dimension, got "
                f"{list(target)} for {len(self)} components"
            )
        raise RuntimeError(f"shape '{list(target)}' is invalid for input of size {self.numel()}")
    if sum(n == -1 for n in target) > 1:
        raise RuntimeError(f"{name}: only one dimension can be inferred, got {list(target)}")
    return [tuple(target[1:])] * len(self)


def _ints(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes


@STRIDED.of("view")
def _view(self: StridedNestedTensor, *shape: Any) -> StridedNestedTensor:
    sizes = _new_sizes("view", self, _ints(shape))
    views = [c.view(size) for c, size in zip(components(self), sizes, strict=True)]
    p = self._placement
    placement = Placement([v.shape for v in views], [v.stride() for v in views], p.offsets, len(sizes[0]))
    return as_strided_nested(self.values(), placement)


@STRIDED.of("reshape")
def _reshape(self: StridedNestedTensor, *shape: Any) -> StridedNestedTensor:
    sizes = _new_sizes("reshape", self, _ints(shape))
    return strided_from_tensors([c.reshape(size) for c, size in zip(components(self), sizes, strict=True)])


# ---- several components, products and layers ----
@STRIDED.of("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> StridedNestedTensor:
    if any(not isinstance(t, StridedNestedTensor) for t in tensors):
        raise RuntimeError("cat(): expected each tensor in given list to be nested")
    if any(not t.is_contiguous() for t in tensors):
        raise RuntimeError("cat(): only contiguous nested tensors are supported")
    d = wrap(dim, tensors[0].dim())
    parts = [components(t) for t in tensors]
    if d == 0:
        return strided_from_tensors([c for part in parts for c in part])
    for t in tensors:
        _check_ragged_first(t)
    outside = [[s[: d - 1] + s[d:] for s in t._placement.sizes] for t in tensors]
    if any(o != outside[0] for o in outside):
        raise RuntimeError(
            "cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim"
        )
    return strided_from_tensors([_C.cat(list(row), d - 1) for row in zip(*parts, strict=True)])


def _check_ragged_first(t: StridedNestedTensor) -> None:
    if any(len(set(n)) > 1 for n in list(zip(*t._placement.sizes, strict=True))[1:]):
        raise RuntimeError(
            "cat(): only nested tensors with a single ragged dim next to the batch dim are supported"
        )


def _check_both_nested(self: Any, other: Any) -> None:
    for t, kinds in ((other, "nested self and non-nested other"), (self, "non-nested self and nested other")):
        if not isinstance(t, StridedNestedTensor):
            raise RuntimeError(f"Expected both to be nested, but got a {kinds}")


@STRIDED.of("bmm")
def _bmm(self: Any, mat2: Any) -> StridedNestedTensor:
    for name, t in (("batch1", self), ("batch2", mat2)):
        if t.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    n, m = (len(t) if isinstance(t, StridedNestedTensor) else t.shape[0] for t in (self, mat2))
    if n != m:
        raise RuntimeError(f"Expected size for the 1st dimension of batch2 tensor to be: {n} but got: {m}.")
    products = []
    for i, (a, b) in enumerate(zip(self.unbind(), mat2.unbind(), strict=True)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"{i}-th nested matrices in batch cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                f"{b.shape[0]}x{b.shape[1]})"
            )
        products.append(a @ b)
    return strided_from_tensors(products)


@STRIDED.of("matmul", "__matmul__")
def _matmul(self: Any, other: Any) -> StridedNestedTensor:
    nested_first = isinstance(self, StridedNestedTensor)
    if nested_first and not isinstance(other, StridedNestedTensor) and self.dim() >= 3 and other.dim() == 2:
        return strided_from_tensors([c @ other for c in components(self)])
    _check_both_nested(self, other)
    for which, t in (("1st", self), ("2nd", other)):
        if t.dim() < 3:
            raise RuntimeError(
                "matmul: For nested tensors, only inputs with >= 3 dims are currently supported. "
                f"{which} input has rank: {t.dim()}"
            )
    if len(self) != len(other):
        raise RuntimeError(
            "matmul: Expected size for the 1st dimension of 2nd input tensor to be: "
            f"{len(self)} but got: {len(other)}."
        )
    return strided_from_tensors(
        [_product(a, b) for a, b in zip(components(self), components(other), strict=True)]
    )


def _product(a: Tensor, b: Tensor) -> Tensor:
    if a.shape[:-2] != b.shape[:-2]:
        raise RuntimeError(
            "matmul: For nested tensors, batch dimensions must have the same sizes, got "
            f"{list(a.shape[:-2])} and {list(b.shape[:-2])}"
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"matmul: Nested tensors cannot be matrix multiplied: {list(a.shape)} and {list(b.shape)}"
        )
    return a @ b


@STRIDED.of("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> StridedNestedTensor:
    if isinstance(weight, StridedNestedTensor):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    if not input.is_contiguous():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{input.dim()}. Dense tensor dim: {weight.dim()}"
        )
    last = _regular_last(input)
    if last != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
            f"'weight.size(1), but got: last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
    output = _C._nn.linear(input.values().view(-1, last), weight, bias)
    return as_strided_nested(
        output.reshape(-1), Placement([(*s[:-1], weight.shape[0]) for s in input._placement.sizes])
    )


def _regular_last(self: StridedNestedTensor) -> int:
    sizes = {size[-1] for size in self._placement.sizes}
    if len(sizes) != 1:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{sorted(sizes)}"
        )
    return sizes.pop()


def _of_softmax(name: str, operator: Any) -> None:
    def softmax(input: StridedNestedTensor, dim: int, dtype: Any = None) -> StridedNestedTensor:
        if not len(input):
            return input
        d = wrap(dim, input.dim())
        if d == 0:
            raise RuntimeError("Cannot apply softmax across nested dimension 0")
        return strided_from_tensors([operator(c, d - 1, dtype=dtype) for c in components(input)])

    STRIDED.of(name)(softmax)


_of_softmax("softmax", _C.softmax)
_of_softmax("log_softmax", _C.log_softmax)


def _rows(name: str, input: StridedNestedTensor, normalized_shape: Any) -> Tensor:
    """The elements as rows of the shape that is normalized."""
    if not input.is_contiguous():
        raise RuntimeError(f"{name}(): for now only contiguous nested tensors are supported")
    n = len(normalized_shape)
    for k, expected in enumerate(normalized_shape):
        sizes = {size[len(size) - n + k] if len(size) >= n else -1 for size in input._placement.sizes}
        if len(sizes) > 1:
            raise RuntimeError(
                "normalized_shape extends into irregular dimensions for the nested tensor: its components have sizes "
                f"{sorted(sizes)} where {expected} is expected"
            )
        if sizes != {expected}:
            raise RuntimeError(
                f"The shape at dimension {k} of normalized_shape, {expected}, does not match the input's: "
                f"{sorted(sizes)}"
            )
    return input.values().view(-1, *normalized_shape)


@STRIDED.of("layer_norm")
def _layer_norm(
    input: StridedNestedTensor,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *_: Any,
) -> StridedNestedTensor:
    rows = _rows("layer_norm", input, normalized_shape)
    output = _C.layer_norm(rows, normalized_shape, weight, bias, eps)
    return as_strided_nested(output.reshape(-1), input._placement)


@STRIDED.of("rms_norm")
def _rms_norm(
    input: StridedNestedTensor, normalized_shape: Any, weight: Any = None, eps: Any = None
) -> StridedNestedTensor:
    output = _C.rms_norm(_rows("rms_norm", input, normalized_shape), normalized_shape, weight, eps)
    return as_strided_nested(output.reshape(-1), input._placement)


@STRIDED.of("embedding")
def _embedding(
    weight: Tensor, indices: StridedNestedTensor, *args: Any, **kwargs: Any
) -> StridedNestedTensor:
    output = _C.embedding(weight, contiguous(indices).values(), *args, **kwargs)
    sizes = [(*size, weight.shape[1]) for size in indices._placement.sizes]
    return as_strided_nested(output.reshape(-1), Placement(sizes))


@STRIDED.of("sum")
def _sum(self: StridedNestedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None:
        return contiguous(self).values().sum(dtype=dtype)
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 1:
        raise RuntimeError(f"NestedTensor only allows reduction of a single dimension for now, got {dims}")
    if wrap(dims[0], self.dim()) != self.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now, got dimension {dims[0]}"
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return strided_from_tensors([c.sum(-1, keepdim=True, dtype=dtype) for c in components(self)])


@STRIDED.of("scaled_dot_product_attention")
def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **how: Any,
) -> StridedNestedTensor:
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: nested tensors are not supported when an explicit attn_mask is set"
        )
    if is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: nested tensors are not supported when is_causal=True"
        )
    attend = _C._nn.scaled_dot_product_attention
    triples = zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    return strided_from_tensors([attend(q, k, v, dropout_p=dropout_p, **how) for q, k, v in triples])


# ---- pickles and copies ----
def rebuild_strided(buffer: Tensor, sizes: Tensor, strides: Tensor, offsets: Tensor) -> StridedNestedTensor:
    """A nested tensor from what a pickle holds of it; ValueError if the parts do not fit together."""
    placement = Placement(
        sizes.tolist(), strides.tolist(), offsets.tolist(), sizes.shape[-1] if sizes.dim() else 0
    )
    for size, steps, offset in zip(placement.sizes, placement.strides, placement.offsets, strict=True):
        last = offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True))
        wrong = min((offset, *size, *steps)) < 0 or (0 not in size and last >= buffer.numel())
        if buffer.dim() != 1 or wrong:
            raise ValueError(
                f"a component of size {size} at {offset} does not fit a buffer of {buffer.numel()} elements"
            )
    return as_strided_nested(buffer.detach(), placement)


def _reduce(self: StridedNestedTensor, protocol: Any) -> Any:
    parts = (
        self.detach().values().requires_grad_(False),
        self._nested_tensor_size(),
        self._nested_tensor_strides(),
        self._nested_tensor_storage_offsets(),
    )
    return (rebuild_strided, parts)


def _deepcopy(self: StridedNestedTensor, memo: dict[int, Any]) -> StridedNestedTensor:
    import copy

    from tl_core.nested.pickling import check_leaf

    if id(self) not in memo:
        check_leaf(self)
        result = as_strided_nested(copy.deepcopy(self.detach().values(), memo), self._placement)
        memo[id(self)] = as_leaf(result, self.requires_grad)
    return memo[id(self)]


setattr(StridedNestedTensor, "__reduce_ex__", _reduce)  # noqa: B010
setattr(StridedNestedTensor, "__deepcopy__", _deepcopy)  # noqa: B010

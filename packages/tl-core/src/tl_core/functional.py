"""Functions of the flat namespace that are made of others."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = [
    "as_tensor", "asarray", "broadcast_shapes", "broadcast_tensors", "frombuffer", "get_device",
    "is_complex", "is_floating_point", "is_nonzero", "nonzero", "is_storage", "is_tensor", "numel", "typename",
    "movedim", "unflatten",
]  # fmt: skip


def is_tensor(obj: Any, /) -> bool:
    """Whether the object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether the object is a storage."""
    from tl_core.storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.is_complex()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; RuntimeError if there are more or none."""
    return bool(input)


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: one a row, or with `as_tuple` a tensor a dimension."""
    if not as_tuple:
        return _C.nonzero(input, out=out)
    if out is not None:
        raise TypeError("nonzero(): argument 'out' cannot be given with as_tuple=True")
    return input.nonzero_numpy()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def get_device(input: Tensor) -> int:
    """The index of the tensor's device; -1 on the CPU."""
    return input.get_device()


def typename(obj: Any, /) -> str:
    """The name of a tensor's old-style type, or of an object's class."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) else type(obj)
    return f"{cls.__module__}.{cls.__qualname__}"


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, sharing memory with arrays and tensors where nothing has to change."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if hasattr(data, "__array_interface__"):
        return _C.from_numpy(data).to(dtype=dtype, device=device)
    return _C.tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """The object as a tensor; `copy` says whether it must, may (None) or must not have memory of its own."""
    made = as_tensor(obj, dtype=dtype, device=device)
    shares = (isinstance(obj, Tensor) and _C._is_alias_of(made, obj)) or hasattr(obj, "__array_interface__")
    if copy is False and not shares:
        raise ValueError(
            "can't alias arbitrary sequence: asarray(copy=False) needs a tensor or an array of that type and device"
        )
    if copy and shares:
        made = made.clone()
    if not requires_grad:
        return made.detach() if made.requires_grad else made
    return made.detach().requires_grad_()


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol, such as `bytes` or `array.array`.

    ``count`` elements (-1: as many as there are) are read from byte ``offset`` on. Read-only memory gives a tensor that
    cannot be written.

    Raises ValueError if the memory is too small, or does not hold whole elements.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype=int16)
    tensor([1, 2], dtype=torch.int16)
    """
    memory = memoryview(buffer).cast("B")
    size, length = dtype.itemsize, memory.nbytes
    available = length - offset
    if length == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and below the buffer length ({length} bytes)"
        )
    if count == 0 or count < -1:
        raise ValueError(f"count must be positive or -1, got {count}")
    if count == -1 and available % size:
        raise ValueError(
            f"buffer length ({available} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    n = available // size if count == -1 else count
    if n * size > available:
        raise ValueError(
            f"requested buffer length ({n} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    made = _C._from_buffer(memory[offset : offset + n * size]).view(dtype)
    return made.detach().requires_grad_() if requires_grad else made


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    return (
        broadcast_tensors(*(_C.empty(s, device="meta") for s in sizes))[0].shape
        if sizes
        else _C.empty(()).shape
    )


@overridable
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape: list[int] = []
    for t in given:
        own = list(t.shape)
        longest = max(len(shape), len(own))
        a, b = [1] * (longest - len(shape)) + shape, [1] * (longest - len(own)) + own
        for d, (m, n) in enumerate(zip(a, b, strict=True)):
            if m != n and 1 not in (m, n):
                raise RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {d}"
                )
        shape = [n if m == 1 else m for m, n in zip(a, b, strict=True)]
    return tuple(t.expand(shape) for t in given)


@overridable
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the rest keep their order."""
    ndim = input.dim()
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(places):
        raise RuntimeError(f"movedim: source {sources} and destination {places} must have the same length")
    sources, places = [_wrapped(d, ndim) for d in sources], [_wrapped(d, ndim) for d in places]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise RuntimeError("movedim: repeated dim in source or destination")
    rest = iter(d for d in range(ndim) if d not in sources)
    moved = dict(zip(places, sources, strict=True))
    return input.permute([moved[d] if d in moved else next(rest) for d in range(ndim)])


def _wrapped(dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
        )
    return dim % ndim


def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension as several; -1 stands for the size that fits."""
    at = _wrapped(dim, input.dim())
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    product = 1
    for size in sizes:
        product *= size
    fits = product == input.shape[at] or (-1 in sizes and product and input.shape[at] % product == 0)
    if not fits:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({input.shape[at]}) in the input tensor"
        )
    return input.view(*input.shape[:at], *sizes, *input.shape[at + 1 :])

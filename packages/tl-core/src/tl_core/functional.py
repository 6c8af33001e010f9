"""Functions of the flat namespace that are made of others."""

from __future__ import annotations

import os
import warnings
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable
from tl_core.tensors import dlpack
from tl_core.tensors.parameter import as_leaf

__all__ = [
    "as_tensor", "asarray", "broadcast_shapes", "broadcast_tensors", "from_file", "frombuffer", "get_device",
    "is_complex", "is_conj", "is_floating_point", "is_neg", "is_nonzero", "is_signed", "is_storage", "is_tensor",
    "nonzero", "numel", "typename", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "cartesian_prod",
    "meshgrid",
]  # fmt: skip


def is_tensor(obj: Any, /) -> bool:
    """Whether the object is a tensor.

    Example:
        >>> import tl_core
        >>> tl_core.is_tensor(tl_core.ones(2)), tl_core.is_tensor([1.0, 1.0])
        (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether the object is a storage.

    Example:
        >>> import tl_core
        >>> tl_core.is_storage(tl_core.ones(2).untyped_storage()), tl_core.is_storage(tl_core.ones(2))
        (True, False)
    """
    from tl_core.storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


@overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers.

    Example:
        >>> import tl_core
        >>> tl_core.is_floating_point(tl_core.ones(2)), tl_core.is_floating_point(tl_core.arange(2))
        (True, False)
    """
    return input.is_floating_point()


@overridable
def is_signed(input: Tensor) -> bool:
    """Whether the elements can be negative.

    Example:
        >>> import tl_core
        >>> tl_core.is_signed(tl_core.tensor([-1])), tl_core.is_signed(tl_core.tensor([1], dtype=tl_core.uint8))
        (True, False)
    """
    return input.is_signed()


@overridable
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex.

    Example:
        >>> import tl_core
        >>> tl_core.is_complex(tl_core.tensor([1j])), tl_core.is_complex(tl_core.tensor([1.0]))
        (True, False)
    """
    return input.is_complex()


@overridable
def is_conj(input: Tensor) -> bool:
    """Whether the elements are conjugated when they are read.

    >>> is_conj(tensor([1j]).conj())
    True
    """
    return input.is_conj()


@overridable
def is_neg(input: Tensor) -> bool:
    """Whether the elements are negated when they are read.

    >>> is_neg(tensor([1j]).conj().imag)
    True
    """
    return input.is_neg()


@overridable
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; RuntimeError if there are more or none.

    Example:
        >>> import tl_core
        >>> tl_core.is_nonzero(tl_core.tensor([0.5])), tl_core.is_nonzero(tl_core.tensor(0))
        (True, False)
    """
    return bool(input)


@overridable
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: one a row, or with `as_tuple` a tensor a dimension.

    Args:
        input: the tensor.
        out: a tensor of int64 that takes the result; not with `as_tuple`.
        as_tuple: whether the result is a tuple of index tensors, one a dimension.

    Example:
        >>> import tl_core
        >>> tl_core.nonzero(tl_core.tensor([[0, 3], [5, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    if not as_tuple:
        return _C.nonzero(input, out=out)
    if out is not None:
        raise TypeError("nonzero(): argument 'out' cannot be given with as_tuple=True")
    return input.nonzero_numpy()


@overridable
def numel(input: Tensor) -> int:
    """The number of elements.

    Example:
        >>> import tl_core
        >>> tl_core.numel(tl_core.zeros(2, 3, 4))
        24
    """
    return input.numel()


@overridable
def get_device(input: Tensor) -> int:
    """The index of the tensor's device; -1 on the CPU.

    Example:
        >>> import tl_core
        >>> tl_core.get_device(tl_core.ones(2))
        -1
    """
    return input.get_device()


def typename(obj: Any, /) -> str:
    """The name of a tensor's old-style type, of a class or function, or of an object's class.

    Example:
        >>> import tl_core
        >>> tl_core.typename(tl_core.ones(2)), tl_core.typename([1])
        ('torch.FloatTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", None)
    prefix = "" if module in (None, "builtins") else f"{module}."
    return prefix + (getattr(obj, "__qualname__", None) or type(obj).__qualname__)


def _is_array(data: Any) -> bool:
    """Whether it is one of numpy's arrays or made like it: numpy's scalars have the interface, but no items to set."""
    return hasattr(data, "__array_interface__") and hasattr(data, "__setitem__")


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, sharing memory with arrays and tensors where nothing has to change.

    Args:
        data: a tensor, an array, a number or nested sequences of numbers.
        dtype: the type; None for that of the data.
        device: the device; None for that of the data, or the default device.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2)
        >>> tl_core.as_tensor(x) is x, tl_core.as_tensor([1, 2])
        (True, tensor([1, 2]))
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if _is_array(data):
        return _C.from_numpy(data).to(dtype=dtype, device=device)
    return _C.tensor(data, dtype=dtype, device=device)


def _shared_with(obj: Any, dtype: Any) -> Tensor | None:
    """A tensor on the memory of a tensor, a DLPack capsule, an array or a buffer; None if it is none of these."""
    if isinstance(obj, Tensor):
        return obj
    if type(obj).__name__ == "PyCapsule":
        return dlpack.from_dlpack(obj)
    if _is_array(obj):
        return _C.from_numpy(obj)
    if hasattr(obj, "__array_interface__"):  # one of numpy's scalars
        return None
    try:
        memory = memoryview(obj)
    except TypeError:
        return None
    return frombuffer(memory, dtype=dtype or _C._dtype_of_format(memory.format) or _C.get_default_dtype())


def _check_can_share(obj: Any, shared: Tensor | None, dtype: Any, device: Any) -> None:
    if hasattr(obj, "__array_interface__") and shared is None:
        raise RuntimeError("asarray(): can't alias NumPy scalars: copy=False needs an array")
    if shared is None:
        raise ValueError(
            f"asarray(): can't alias arbitrary sequence into a tensor: copy=False needs a tensor, an array, a DLPack "
            f"capsule or a buffer, got {type(obj).__name__}"
        )
    if device is not None and _C.device(device) != shared.device:
        raise ValueError(f"asarray(): can't alias memory from device '{shared.device}' to '{device}'")
    if dtype is not None and dtype != shared.dtype:
        raise ValueError(f"asarray(): can't alias memory with dtype '{shared.dtype}' into dtype '{dtype}'")


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """The object as a tensor.

    Args:
        obj: a tensor, a DLPack capsule, an array, an object with a buffer (one dimension; its elements are of `dtype`,
            or of the type that the buffer names), a number, or nested sequences of them.
        dtype, device: of the result; those of the object if they aren't given.
        copy: whether the result must (True), may (None) or must not have memory of its own.
        requires_grad: whether operations on the result are recorded; if not, it has no history either.

    Raises:
        ValueError: `copy` is False, and the object has no memory to share, or other elements or another device.
        RuntimeError: `copy` is False, and it is one of numpy's scalars.

    Example:
        >>> asarray(memoryview(bytearray([1, 2])), copy=False)
        tensor([1, 2], dtype=torch.uint8)
    """
    shared = _shared_with(obj, dtype)
    if copy is False:
        _check_can_share(obj, shared, dtype, device)
    result = as_tensor(obj if shared is None else shared, dtype=dtype, device=device)
    if copy and shared is not None and _C._is_alias_of(result, shared):
        result = result.clone()
    if not requires_grad:
        return result.detach() if result.requires_grad else result
    return as_leaf(result.detach())


def _bytes_of(buffer: Any) -> memoryview:
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError(
            f"frombuffer(): object does not implement Python buffer protocol, got {type(buffer).__name__}"
        ) from None
    return memoryview(_C._from_buffer(memory))  # cast() knows only some formats of the struct module


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol, such as `bytes` or `array.array`.

    Read-only memory gives a tensor that cannot be written, and a warning.

    Args:
        buffer: the object.
        dtype: of the elements.
        count: how many, -1 for all that are there.
        offset: of the first one, in bytes.
        requires_grad: whether operations on the tensor are recorded.

    Raises:
        ValueError: there is no buffer, or it is too small or holds no whole elements.

    Example:
        >>> frombuffer(bytearray([1, 0, 2, 0]), dtype=int16)
        tensor([1, 2], dtype=torch.int16)
    """
    memory = _bytes_of(buffer)
    if memory.readonly:
        warnings.warn(
            "The given buffer is not writable. Writing to the tensor will raise; copy it to write.",
            UserWarning, stacklevel=2,
        )  # fmt: skip
    size, length = dtype.itemsize, memory.nbytes
    available = length - offset
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and below the buffer length ({length} bytes)"
        )
    if count < -1:
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
    result = _C._from_buffer(memory[offset : offset + n * size]).view(dtype)
    return as_leaf(result.detach()) if requires_grad else result


@overridable
def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: _C.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """A tensor of one dimension on a file mapped into memory.

    Args:
        filename: the file.
        shared: whether writes reach the file, which is then made, or made longer, where it is too short.
        size: how many elements, from the beginning of the file.
        dtype: of the elements; the default one if it isn't given.
        layout, device: strided, on the CPU; nothing else can lie on a file.
        pin_memory: refused.

    Raises:
        RuntimeError: if the file can't be opened, is too short and not shared, or `size` is negative.

    Example:
        >>> import tempfile
        >>> import tl_core as tl
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     counts = tl.from_file(file.name, shared=True, size=3, dtype=tl.int32)
        >>> counts.add_(1)
        tensor([1, 1, 1], dtype=torch.int32)
    """
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    if layout not in (None, _C.strided) or _C.device(device or "cpu").type != "cpu":
        raise RuntimeError(
            f"from_file: the tensor is strided and on the CPU, but got layout={layout}, device={device}"
        )
    count = size or 0
    if count < 0:
        raise RuntimeError(f"from_file: size must not be negative, got {count}")
    from tl_core.memory.untyped_storage import UntypedStorage

    kind = dtype or _C.get_default_dtype()
    storage = UntypedStorage.from_file(filename, bool(shared), count * kind.itemsize)
    return _C.empty(0, dtype=kind).set_(storage, 0, (count,), (1,))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to; an int stands for a shape of one dimension.

    Raises RuntimeError for a negative size and for shapes that do not fit.

    >>> broadcast_shapes((3, 1), 2)
    torch.Size([3, 2])
    """
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for shape in sizes:
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension: {list(shape)}")
    common = _C.broadcast_tensors([_C.empty(s, device="meta") for s in sizes])
    return common[0].shape if common else _C.empty(()).shape


def _as_list(tensors: Any) -> Any:
    """`f(a, b)` and `f([a, b])` mean the same."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@overridable
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape, without a copy.

    Raises RuntimeError naming both shapes if there is none.

    >>> a, b = broadcast_tensors(ones(3, 1), zeros(2))
    >>> a.shape, b.shape
    (torch.Size([3, 2]), torch.Size([3, 2]))
    """
    return tuple(_C.broadcast_tensors(_as_list(tensors)))


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each vector along a dimension of its own, expanded over those of the others.

    ``indexing="ij"``, as without it, gives dimensions in the order of the vectors; ``"xy"`` exchanges the first two.
    To leave it out warns: NumPy's meshgrid means ``"xy"`` by it.

    >>> x, y = meshgrid(tensor([1, 2]), tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument: "
            'without it, indexing="ij" is taken',
            stacklevel=3,
        )
    return tuple(_C.meshgrid(_as_list(tensors), indexing=indexing or "ij"))


@overridable
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal, and zeros; vectors are rows and numbers 1 by 1.

    >>> block_diag(tensor([[1, 2]]), tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return _C.block_diag(_as_list(tensors))


@overridable
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element from each vector, one a row; of a single vector, the vector.

    >>> cartesian_prod(tensor([1, 2]), tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    return _C.cartesian_prod(_as_list(tensors))


def _atleast(form: Any, tensors: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return form(tensors[0])
    return tuple(form(list(_as_list(tensors))))


@overridable
def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension: a tensor for one, a tuple for several.

    >>> atleast_1d(tensor(2))
    tensor([2])
    """
    return _atleast(_C.atleast_1d, tensors)


@overridable
def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions: vectors become rows.

    >>> atleast_2d(tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _atleast(_C.atleast_2d, tensors)


@overridable
def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with at least three dimensions: a vector of n elements becomes 1 by n by 1, a matrix gets a last one.

    >>> atleast_3d(tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """
    return _atleast(_C.atleast_3d, tensors)

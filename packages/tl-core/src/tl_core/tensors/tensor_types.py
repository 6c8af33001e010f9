"""The older way to say which type a tensor has, and to make one: `FloatTensor([1, 2])`, `LongTensor(2, 3)`.

>>> LongTensor([1, 2])
tensor([1, 2])
>>> isinstance(LongTensor(2, 3), FloatTensor)
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tl_core import _C
from tl_core._C import Tensor
from tl_core.storage import TypedStorage, UntypedStorage
from tl_core.tensors.size import Size

_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
          "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
          "complex64": "ComplexFloat", "complex128": "ComplexDouble", "complex32": "ComplexHalf",
          "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "quint8": "QUInt8", "qint8": "QInt8",
          "qint32": "QInt32", "quint4x2": "QUInt4x2", "quint2x4": "QUInt2x4"}  # fmt: skip
# The others are named alike, but for their case: Float8_e5m2, Bits8, UInt4.
_NAMES |= {
    name: name.replace("uint", "UInt") if name[0] == "u" else name.capitalize()
    for name, dtype in vars(_C).items()
    if isinstance(dtype, _C.dtype) and name not in _NAMES
}
_DTYPES = {f"torch.{name}Tensor": getattr(_C, dtype) for dtype, name in _NAMES.items()}


def _example(name: str, dtype: Any, device_type: str, layout: Any) -> str:
    """The section `Example:` of a type: a tensor that is one of it, and on devices what is none."""
    element = f"tl_core.{str(dtype).removeprefix('torch.')}"
    if device_type != "cpu":
        lines = [
            f"from tl_backends import {device_type}",
            f"isinstance(tl_core.ones(2), {device_type}.{name})",
        ]
    elif layout is _C.strided:
        lines = [f"isinstance(tl_core.ones(2, dtype={element}), tl_core.{name})"]
    else:
        lines = [
            f"isinstance(tl_core.ones(2, dtype={element}).to_sparse(), tl_core.sparse_layouts.tensor_types.{name})"
        ]
    session = "".join(f"    >>> {line}\n" for line in ("import tl_core", *lines))
    return f"Example:\n{session}    {device_type == 'cpu'}"


# Functions of an element type and of arguments, by layout.
constructors: dict[Any, Callable[[Any, tuple[Any, ...]], Tensor]] = {}


class TensorType(type):
    """The class of `FloatTensor` and its like: their instances are the tensors of one element type on one device.

    Args:
        name: the name of the class.
        dtype: the type of the elements.
        device_type: the kind of device.
        module: the module that has the class.
        layout: how the elements lie: `strided` or `sparse_coo`.
    """

    dtype: Any
    device_type: str
    layout: Any

    def __new__(
        mcs,
        name: str,
        dtype: Any = None,
        device_type: str = "cpu",
        module: str = __name__,
        layout: Any = _C.strided,
    ) -> TensorType:
        if not isinstance(dtype, _C.dtype):
            bases = ", ".join(f"'torch.{base.__name__}'" for base in dtype or ())
            raise TypeError(
                f"type {bases} is not an acceptable base type for {name}: derive from torch.Tensor"
            )
        text = f"Tensors of {dtype}, made the older way.\n\n{_example(name, dtype, device_type, layout)}"
        tensor_type = super().__new__(mcs, name, (), {"__doc__": text, "__module__": module, "__slots__": ()})
        tensor_type.dtype, tensor_type.device_type, tensor_type.layout = dtype, device_type, layout
        return tensor_type

    def __init__(cls, name: str, *_: Any) -> None:
        super().__init__(name, (), {})

    @property
    def is_sparse(cls) -> bool:
        """Whether these are tensors of which only some elements are stored."""
        return cls.layout is _C.sparse_coo

    @property
    def is_cuda(cls) -> bool:
        """Whether these are tensors on a CUDA device."""
        return cls.device_type == "cuda"

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype == cls.dtype
            and instance.device.type == cls.device_type
            and instance.layout is cls.layout
        )

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if device is not None and _C.device(device).type != cls.device_type:
            raise RuntimeError(
                f"{cls.__name__}: legacy constructor expects device type {cls.device_type}, got {device}"
            )
        if cls.device_type != "cpu":
            _refuse(cls)
        return constructors[cls.layout](cls.dtype, args)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Tensor, name)


def _refuse(kind: TensorType) -> NoReturn:
    raise TypeError(f"type torch.{kind.device_type}.{kind.__name__} not available: tl has only the CPU")


def scalar_name(dtype: Any) -> str:
    """The older name of an element type: `Float`."""
    return _NAMES[str(dtype).removeprefix("torch.")]


def older_types(
    device_type: str = "cpu", module: str = __name__, layout: Any = _C.strided
) -> tuple[TensorType, ...]:
    """The older types that each kind of device and each layout has.

    Args:
        device_type: the kind of device.
        module: the module that has the classes.
        layout: how the elements lie: `strided` or `sparse_coo`.

    Returns:
        Those of float32, float64, float16, bfloat16, uint8, int8, int16, int32 and int64, in this order.
    """
    dtypes = (
        _C.float32,
        _C.float64,
        _C.float16,
        _C.bfloat16,
        _C.uint8,
        _C.int8,
        _C.int16,
        _C.int32,
        _C.int64,
    )
    return tuple(TensorType(f"{scalar_name(d)}Tensor", d, device_type, module, layout) for d in dtypes)


(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
 LongTensor) = older_types()  # fmt: skip
BoolTensor = TensorType("BoolTensor", _C.bool)


def type_name(dtype: Any) -> str:
    """The older name of the tensors of an element type: `torch.FloatTensor`."""
    return f"torch.{scalar_name(dtype)}Tensor"


def dtype_of(kind: Any) -> Any:
    """The element type that a dtype, an older type or its name stands for.

    Raises:
        ValueError: a text that names none.
    """
    if kind is Tensor:
        return _C.get_default_dtype()
    if isinstance(kind, TensorType):
        if kind.device_type != "cpu":
            _refuse(kind)
        return kind.dtype
    if isinstance(kind, str):
        if kind not in _DTYPES:
            raise ValueError(f"invalid type: {kind!r}")
        return _DTYPES[kind]
    return kind


def construct(dtype: Any, args: tuple[Any, ...]) -> Tensor:
    """A tensor from sizes, a sequence, a storage or a tensor, as the older constructors make it.

    Args:
        dtype: its element type.
        args: nothing, the sizes, or one sequence, array, storage or tensor of this type; the last two share memory.

    Raises:
        TypeError: it is none of these.
    """
    if all(isinstance(size, int) for size in args):
        return _C.empty(args or (0,), dtype=dtype)
    (data, *more) = args
    if not more and isinstance(data, Tensor):
        return _alias(data, dtype)
    if not more and isinstance(data, Size):
        return _C.empty(data, dtype=dtype)
    if not more and isinstance(data, TypedStorage | UntypedStorage):
        return _C.empty(0, dtype=dtype).set_(data)
    if not more and hasattr(data, "__len__") and not isinstance(data, str | dict | set):
        return _C.tensor(data, dtype=dtype)
    raise TypeError(
        f"new(): data must be a sequence, sizes or a tensor, got {', '.join(type(a).__name__ for a in args)}"
    )


def _alias(tensor: Tensor, dtype: Any) -> Tensor:
    if tensor.dtype != dtype:
        raise TypeError(
            f"new(): expected a tensor of {dtype}, got {tensor.dtype}; convert it with .to({dtype})"
        )
    return tensor.detach()


constructors[_C.strided] = construct

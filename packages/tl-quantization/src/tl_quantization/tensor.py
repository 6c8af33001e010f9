"""Tensors whose elements are integers with a scale and a zero point.

>>> import tl_core, tl_quantization as tq
>>> q = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.0, 2.0]), scale=0.5, zero_point=10, dtype=tq.quint8)
>>> q.int_repr()
tensor([ 8, 10, 14], dtype=torch.uint8)
>>> q.dequantize()
tensor([-1.,  0.,  2.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.overrides import DisableTorchFunctionSubclass, made_of_others

from .dtypes import QScheme, bits_of, storage_dtype
from .packing import pack_bits
from .tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__ = ["QuantizedTensor", "implements", "integers_of", "made_of"]

QUANTIZED: RuleTable[Callable[..., Any]] = RuleTable("quantized")
#: The callers of operators of a namespace, such as `quantized::linear`: they take the tensors as they are.
NAMESPACES: dict[str, Callable[..., Any]] = {}
#: Functions whose operator of aten has another name.
_OF_ATEN = {"batch_norm": "native_batch_norm"}


def implements(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function computes the operators of these names on quantized tensors.

    It is called with the operator, its arguments as a tuple and its keyword arguments as a dictionary.
    """
    return QUANTIZED.rule(*names)


class QuantizedTensor(Tensor):
    """Integers, and the quantizer that maps them to numbers.

    Views, copies and operators that choose elements keep the quantizer.
    `tl_quantization.nn` computes with quantized tensors. Other operators raise
    NotImplementedError: call `dequantize()` before.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.4, 1.0]), 0.5, 10, tq.quint8)
        >>> isinstance(x, tq.QuantizedTensor), x.dequantize()
        (True, tensor([0.5000, 1.0000]))
    """

    quantizer: Quantizer

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if (code := made_of_others(func)) is not None:
            return code(*args, **(kwargs or {}))
        space = getattr(func, "_namespace", None) or getattr(func, "namespace", None)
        if space is not None and space in NAMESPACES:
            return NAMESPACES[space](func, args, kwargs or {})
        handler = QUANTIZED.get(func.__name__)
        if handler is None:
            operator = _OF_ATEN.get(func.__name__, func.__name__)
            raise NotImplementedError(
                f"Could not run 'aten::{operator}' with arguments from the 'QuantizedCPU' backend: {func.__name__} "
                "doesn't compute with quantized tensors; call dequantize() before, as a DeQuantStub does in a model"
            )
        return handler(func, args, kwargs or {})

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """`quint8`, `qint8` or `qint32`."""
        return self.quantizer.dtype

    @property
    def is_quantized(self) -> bool:  # type: ignore[override]
        """True."""
        return True

    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """Raises RuntimeError, because the older constructor takes no scale."""
        raise RuntimeError(
            "new: the legacy constructor makes no quantized tensors; call torch.empty_quantized"
        )

    def int_repr(self) -> Tensor:
        """The integers, as a plain tensor of its own; those of less than a byte are packed into a vector of bytes."""
        integers, bits = integers_of(self), bits_of(self.dtype)
        return pack_bits(integers.flatten(), bits) if bits < 8 else integers.clone()

    def dequantize(self) -> Tensor:
        """The numbers of the integers, as float32."""
        return self.quantizer.numbers(integers_of(self))

    def qscheme(self) -> QScheme:
        """The scheme of the scales, such as `per_tensor_affine`."""
        return self.quantizer.scheme

    def q_scale(self) -> float:
        """The scale. Raises RuntimeError if each channel has its own."""
        return self._one("q_scale").scale

    def q_zero_point(self) -> int:
        """The zero point. Raises RuntimeError if each channel has its own."""
        return self._one("q_zero_point").zero_point

    def q_per_channel_scales(self) -> Tensor:
        """The channels' scales as float64. Raises RuntimeError if there is only one."""
        return self._several("q_per_channel_scales").scales

    def q_per_channel_zero_points(self) -> Tensor:
        """The channels' zero points. Raises RuntimeError if there is only one."""
        return self._several("q_per_channel_zero_points").zero_points

    def q_per_channel_axis(self) -> int:
        """The axis of the channels. Raises RuntimeError if there is one scale for all."""
        return self._several("q_per_channel_axis").axis

    def _one(self, name: str) -> PerTensor:
        if not isinstance(self.quantizer, PerTensor):
            raise RuntimeError(f"{name}: expected a tensor with one scale, but got {self.qscheme()}")
        return self.quantizer

    def _several(self, name: str) -> PerChannel:
        if not isinstance(self.quantizer, PerChannel):
            raise RuntimeError(f"{name}: expected a tensor with a scale a channel, but got {self.qscheme()}")
        return self.quantizer

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        numbers = repr(self.dequantize())
        body = numbers.removesuffix(")").partition(", size=")[0]
        return (
            f"{body}, size={tuple(self.shape)}, dtype={self.dtype},\n"
            f"       quantization_scheme={self.qscheme()}, {self.quantizer.shown()})"
        )

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> QuantizedTensor:
        copy = made_of(integers_of(self).clone(), self.quantizer)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return made_of, (integers_of(self).clone(), self.quantizer)


def integers_of(x: Tensor) -> Tensor:
    """Views the integers as a plain tensor.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.4, 1.0]), 0.5, 10, tq.quint8)
        >>> tq.integers_of(x)
        tensor([11, 12], dtype=torch.uint8)
    """
    with DisableTorchFunctionSubclass():
        return x.as_subclass(Tensor)


def made_of(integers: Tensor, quantizer: Quantizer) -> QuantizedTensor:
    """A quantized tensor on the memory of its integers.

    Raises:
        TypeError: If the integers do not have the type that the quantizer's elements are kept in.

    >>> q = made_of(tl_core.tensor([3], dtype=tl_core.int8), PerTensor(0.5, 1, qint8))
    >>> q.dequantize()
    tensor([1.])
    """
    storage = storage_dtype(quantizer.dtype)
    if integers.dtype is not storage:
        raise TypeError(f"integers of {quantizer.dtype} are of {storage}, but got {integers.dtype}")
    tensor = integers.detach().as_subclass(QuantizedTensor)
    tensor.quantizer = quantizer
    return tensor

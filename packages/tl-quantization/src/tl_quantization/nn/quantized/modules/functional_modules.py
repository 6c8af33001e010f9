"""Sums, products and joins as modules, so that their results can be observed and quantized."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_nn import Identity, Module
from tl_nn import functional as F

from ....dtypes import bounds, qint32
from ....operators import quantize_numbers
from ....quantizer import PerTensor
from ....tensor import integers_of, made_of
from .utils import OutputScale, numbers_of, observed_qparams

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FXFloatFunctional(Module):
    """Operators of floating numbers as methods of a module.

    Example:
        >>> import tl_core
        >>> FXFloatFunctional().add(tl_core.ones(2), tl_core.ones(2))
        tensor([2., 2.])
    """

    def forward(self, x: Any) -> Any:
        """Raises: the methods are called."""
        raise RuntimeError(f"{type(self).__name__} is not called itself; call its methods, such as add")

    def _out(self, x: Any) -> Any:
        return x

    def add(self, x: Any, y: Any) -> Any:
        """`x + y`."""
        return self._out(tl_core.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """`x + y` with a number, which changes the zero point only."""
        return tl_core.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """`x * y`."""
        return self._out(tl_core.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """`x * y` with a number, which changes the scale only."""
        return tl_core.mul(x, y)

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """The tensors one after another."""
        return self._out(tl_core.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """`max(x + y, 0)`."""
        return self._out(F.relu(tl_core.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`."""
        return self._out(tl_core.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operators as methods of a module whose results pass through `activation_post_process`, an observer in time.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn import quantized
        >>> quantized.FloatFunctional().add(tl_core.ones(2), tl_core.ones(2))
        tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = Identity()

    def _out(self, x: Any) -> Any:
        return self.activation_post_process(x)


class QFunctional(OutputScale):
    """The operators of `FloatFunctional` with quantized tensors. Results have the module's scale and zero point.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> q = tq.quantize_per_tensor(tl_core.ones(2), 0.5, 0, tq.quint8)
        >>> QFunctional().add(q, q).dequantize()
        tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process: Any = Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """Raises: the methods are called."""
        raise RuntimeError("QFunctional is not called itself; call its methods, such as add")

    def _out(self, x: Any, like: Any) -> Any:
        return self.activation_post_process(
            quantize_numbers(x, PerTensor(self.scale, self.zero_point, like.dtype))
        )

    def add(self, x: Any, y: Any) -> Any:
        """`x + y`."""
        return self._sum(numbers_of(x), numbers_of(y), False)

    def _sum(self, x: Any, y: Any, relu: bool) -> Any:
        quantizer = PerTensor(self.scale, self.zero_point, x.dtype)
        if x.shape != y.shape or not _is_summable(x, y):
            total = x.dequantize() + y.dequantize()
            return self._out(F.relu(total) if relu else total, x)
        first, second = x.quantizer, y.quantizer
        integers = tl_core._add_bytes(
            integers_of(x), first.scale, first.zero_point, integers_of(y), second.scale, second.zero_point,
            self.scale, self.zero_point, relu,
        )  # fmt: skip
        return self.activation_post_process(made_of(integers, quantizer))

    def add_scalar(self, x: Any, y: float) -> Any:
        """`x + y` with a number, in steps of the input's scale. It shifts the zero point, if that stays in range."""
        scale, zero, kind = x.q_scale(), x.q_zero_point(), x.dtype
        shifted = zero - round(y / scale)
        numbers = x.dequantize() + round(y / scale) * scale
        low, high = bounds(kind)
        if low <= shifted <= high:
            return quantize_numbers(numbers, PerTensor(scale, shifted, kind))
        return _covering(x, numbers, shifted)

    def mul(self, x: Any, y: Any) -> Any:
        """`x * y`: the product of the integers less their zero points, which is exact, is rounded once."""
        if not _is_summable(numbers_of(x), numbers_of(y)):
            return self._out(x.dequantize() * y.dequantize(), x)
        first, second = ((integers_of(t).to(tl_core.int32) - t.quantizer.zero_point) for t in (x, y))
        factors = [tl_core.tensor(s, dtype=tl_core.float32) for s in (x.q_scale(), y.q_scale(), self.scale)]
        product = (first * second).to(tl_core.float32) * (factors[0] * factors[1] * factors[2].reciprocal())
        quantizer = PerTensor(self.scale, self.zero_point, x.dtype)
        return self.activation_post_process(made_of(quantizer.integers_of_steps(product), quantizer))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """`x * y` with a number, which changes scale and zero point only."""
        scale, zero, kind = x.q_scale(), x.q_zero_point(), x.dtype
        if y == 0:
            return quantize_numbers(x.dequantize() * 0, PerTensor(1.0, 0, kind))
        zero = zero if y > 0 else sum(bounds(kind)) - zero
        return quantize_numbers(x.dequantize() * y, PerTensor(scale * abs(y), zero, kind))

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """The tensors one after another."""
        return self._out(tl_core.cat([numbers_of(t).dequantize() for t in x], dim=dim), x[0])

    def add_relu(self, x: Any, y: Any) -> Any:
        """`max(x + y, 0)`."""
        return self._sum(numbers_of(x), numbers_of(y), True)

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`."""
        return self._out(numbers_of(x).dequantize() @ numbers_of(y).dequantize(), x)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """The module for a `FloatFunctional` that has been observed."""
        module = cls()
        module.scale, module.zero_point = observed_qparams(mod)
        return module


def _is_summable(x: Any, y: Any) -> bool:
    """Whether both are bytes of one type, each with one scale."""
    is_byte = x.dtype is y.dtype and x.dtype is not qint32
    return is_byte and isinstance(x.quantizer, PerTensor) and isinstance(y.quantizer, PerTensor)


def _covering(x: Any, numbers: Any, shifted: int) -> Any:
    """A wider scale, where a zero point would leave the range: the integers reach from it to the far end."""
    kind, scale = x.dtype, x.q_scale()
    low, high = bounds(kind)
    if shifted < low:
        return quantize_numbers(numbers, PerTensor((high - shifted) / (high - low) * scale, low, kind))
    return quantize_numbers(numbers, PerTensor((shifted - low) / (high - low) * scale, high, kind))

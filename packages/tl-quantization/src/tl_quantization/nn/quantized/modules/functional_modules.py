"""Sums, products and joins as modules, so that their results can be observed and quantized."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Identity, Module
from tl_nn import functional as F

from .... import arithmetic
from ....operators import quantize_numbers
from ....tensor_quantizer import PerTensor
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

    def _out(self, x: Tensor) -> Tensor:
        return x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """`x + y`."""
        return self._out(tl_core.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x + y` with a number, which changes the zero point only."""
        return tl_core.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """`x * y`."""
        return self._out(tl_core.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x * y` with a number, which changes the scale only."""
        return tl_core.mul(x, y)

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        """The tensors one after another."""
        return self._out(tl_core.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """`max(x + y, 0)`."""
        return self._out(F.relu(tl_core.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
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

    def _out(self, x: Tensor) -> Tensor:
        result: Tensor = self.activation_post_process(x)
        return result


def _scripts(*results: tuple[str, str, str]) -> str:
    """The methods of a module in TorchScript: the name, the arguments and the result of each."""
    return "\n".join(
        f"def {name}(self, {arguments}) -> Tensor:\n    return {result}\n"
        for name, arguments, result in results
    )


_PAIR, _NUMBER = "x: Tensor, y: Tensor", "x: Tensor, y: float"
_SCALE = "self.scale, self.zero_point"
_TENSORS = "x: List[Tensor], dim: int=0"
_OBSERVED = "self.activation_post_process"


class QFunctional(OutputScale):
    """The operators of `FloatFunctional` with quantized tensors. Results have the module's scale and zero point.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> q = tq.quantize_per_tensor(tl_core.ones(2), 0.5, 0, tq.quint8)
        >>> QFunctional().add(q, q).dequantize()
        tensor([2., 2.])
    """

    _SCRIPT_SOURCE = _scripts(
        ("add", _PAIR, f"{_OBSERVED}(quantized.add(x, y, {_SCALE}))"),
        ("add_scalar", _NUMBER, "quantized.add_scalar(x, y)"),
        ("mul", _PAIR, f"{_OBSERVED}(quantized.mul(x, y, {_SCALE}))"),
        ("mul_scalar", _NUMBER, "quantized.mul_scalar(x, y)"),
        ("cat", _TENSORS, f"{_OBSERVED}(quantized.cat(x, dim, {_SCALE}))"),
        ("add_relu", _PAIR, f"{_OBSERVED}(quantized.add_relu(x, y, {_SCALE}))"),
        ("matmul", _PAIR, f"quantized.matmul(x, y, {_SCALE})"),
    )

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
        return self.activation_post_process(
            arithmetic.add(numbers_of(x), numbers_of(y), self.scale, self.zero_point)
        )

    def add_scalar(self, x: Any, y: float) -> Any:
        """`x + y` with a number, in steps of the input's scale. It shifts the zero point, if that stays in range."""
        return arithmetic.add_number(numbers_of(x), y)

    def mul(self, x: Any, y: Any) -> Any:
        """`x * y`: the product of the integers less their zero points, which is exact, is rounded once."""
        return self.activation_post_process(
            arithmetic.mul(numbers_of(x), numbers_of(y), self.scale, self.zero_point)
        )

    def mul_scalar(self, x: Any, y: float) -> Any:
        """`x * y` with a number, which changes scale and zero point only."""
        return arithmetic.mul_number(numbers_of(x), y)

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """The tensors one after another."""
        return self._out(tl_core.cat([numbers_of(t).dequantize() for t in x], dim=dim), x[0])

    def add_relu(self, x: Any, y: Any) -> Any:
        """`max(x + y, 0)`."""
        return self.activation_post_process(
            arithmetic.add(numbers_of(x), numbers_of(y), self.scale, self.zero_point, relu=True)
        )

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`."""
        return self._out(numbers_of(x).dequantize() @ numbers_of(y).dequantize(), x)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """The module for a `FloatFunctional` that has been observed."""
        module = cls()
        module.scale, module.zero_point = observed_qparams(mod)
        return module

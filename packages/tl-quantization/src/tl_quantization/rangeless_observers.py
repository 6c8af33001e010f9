"""Observers that compute no range: a fixed scale, only a type, a record of tensors."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .dtypes import bounds, is_quantized_dtype, per_tensor_affine, quantized_dtype, quint8
from .observer_base import ObserverBase

__all__ = [
    "FixedQParamsObserver",
    "NoopObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
]


class FixedQParamsObserver(ObserverBase):
    """A fixed scale and zero point.

    Args:
        scale (float): The scale.
        zero_point (int): The zero point.
        dtype, qscheme, quant_min, quant_max, is_dynamic: As of `UniformQuantizationObserverBase`.
        kwargs: arguments of the base class.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.FixedQParamsObserver(scale=0.5, zero_point=3).calculate_qparams()
        (tensor([0.5000]), tensor([3], dtype=torch.int32))
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", tl_core.tensor([scale]))
        self.register_buffer("zero_point", tl_core.tensor([zero_point], dtype=tl_core.int32))

    def forward(self, X: Tensor) -> Tensor:
        """The tensor itself."""
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]  # no keywords
        """The fixed scale and zero point."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Only the type of a conversion, or of a quantization at each call.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.
        compute_dtype, quant_min, quant_max, qscheme, eps, is_dynamic: Attributes for quantization at each call.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.PlaceholderObserver(dtype=tl_core.float16)(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(
        self,
        dtype: Any = tl_core.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic or bool(compute_dtype))
        if is_quantized_dtype(dtype) or quant_min is not None:
            low, high = bounds(quantized_dtype(dtype))
            quant_min = low if quant_min is None else quant_min
            quant_max = high if quant_max is None else quant_max
        self.custom_op, self.compute_dtype = custom_op_name, compute_dtype
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.eps = tl_core.finfo(tl_core.float32).eps if eps is None else eps

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # no keywords
        """Raises an error: this observer records no range."""
        raise RuntimeError(
            "calculate_qparams should not be called for PlaceholderObserver: it watches nothing"
        )

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(ObserverBase):
    """Keeps every tensor that passes, in `tensor_val`, for those who look for an error.

    Args:
        dtype (dtype): Of the numbers, once quantized.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.RecordingObserver()
        >>> _ = observer(tl_core.ones(2))
        >>> observer.get_tensor_value()
        [tensor([1., 1.])]
    """

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Keeps a copy and returns the tensor."""
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # no keywords
        """Raises: a record has no scale."""
        raise RuntimeError("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Tensor]:
        """The tensors kept."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Only the type of a conversion, such as float16.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.NoopObserver(dtype=tl_core.float16)(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, dtype: Any = tl_core.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # no keywords
        """Raises an error: this observer records no range."""
        raise RuntimeError("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """For operators that keep their input's scale, such as a reshape.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.ReuseInputObserver()(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self) -> None:
        super().__init__(quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # no keywords
        """Raises an error: the input's observer has the scale."""
        raise RuntimeError("calculate_qparams should not be called for ReuseInputObserver")

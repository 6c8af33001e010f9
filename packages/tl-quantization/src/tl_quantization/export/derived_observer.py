"""An observer whose scale is a function of other observers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor

from ..dtypes import bounds
from ..observer_base import ObserverBase

__all__ = ["DerivedObserver"]


class DerivedObserver(ObserverBase):
    """Leaves numbers as they are, and computes the scale from the scales of other values.

    Args:
        observers: the observers of the other values.
        derive: the function from these observers to scales and zero points.
        dtype: the type of the integers.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        qscheme: the scheme.
        ch_axis: the axis with a scale for each entry.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> first = tq.MinMaxObserver()
        >>> _ = first(tl_core.tensor([0.0, 2.55]))
        >>> square = lambda observers: (observers[0].calculate_qparams()[0] ** 2, tl_core.tensor([0]))
        >>> DerivedObserver([first], square, tl_core.int32).calculate_qparams()[0]
        tensor([1.0000e-04])
    """

    def __init__(
        self,
        observers: list[Any],
        derive: Callable[[list[Any]], tuple[Any, Any]],
        dtype: Any,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        ch_axis: int | None = None,
    ) -> None:
        super().__init__(dtype)
        # A tuple keeps the observers out of the modules of this one: each has a place in the graph module.
        self._others = tuple(observers)
        self.derive = derive
        low, high = bounds(dtype)
        self.quant_min = low if quant_min is None else quant_min
        self.quant_max = high if quant_max is None else quant_max
        self.qscheme, self.ch_axis = qscheme, ch_axis

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scales and zero points."""
        scale, zero = self.derive(list(self._others))
        return tl_core.as_tensor(scale), tl_core.as_tensor(zero)

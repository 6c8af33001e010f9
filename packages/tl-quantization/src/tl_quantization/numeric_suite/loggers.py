"""Modules that store the values that pass them."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module

from ..dtypes import quint8

__all__ = ["Logger", "OutputLogger", "ShadowLogger"]


class Logger(Module):
    """The base class of loggers: `stats` has the values.

    Example:
        >>> Logger().stats
        {}
    """

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, Any] = {}
        self.dtype = quint8

    def forward(self, x: Any) -> Any:
        """Stores nothing in the base class and returns None."""


class ShadowLogger(Logger):
    """Stores the results of a quantized layer and of the float layer beside it.

    Example:
        >>> import tl_core
        >>> logger = ShadowLogger()
        >>> logger(tl_core.ones(1), tl_core.zeros(1))
        >>> logger.stats
        {'float': [tensor([0.])], 'quantized': [tensor([1.])]}
    """

    def __init__(self) -> None:
        super().__init__()
        self.stats["float"] = []
        self.stats["quantized"] = []

    def forward(self, x: Any, y: Any) -> None:  # type: ignore[override]  # two results
        """Stores the result of the quantized layer and that of the float layer.

        Args:
            x: the result of the quantized layer. Of a tuple only its first entry counts.
            y: the result of the float layer.
        """
        x = x[0] if isinstance(x, tuple) else x
        y = y[0] if isinstance(y, tuple) else y
        self.stats["quantized"].append(x.detach())
        self.stats["float"].append(y.detach())


class OutputLogger(Logger):
    """Stores the tensors that pass.

    Example:
        >>> import tl_core
        >>> logger = OutputLogger()
        >>> logger(tl_core.ones(1))
        tensor([1.])
        >>> logger.stats
        {'tensor_val': [tensor([1.])]}
    """

    def __init__(self) -> None:
        super().__init__()
        self.stats["tensor_val"] = []

    def forward(self, x: Tensor) -> Tensor:
        """Stores `x` and returns it."""
        self.stats["tensor_val"].append(x)
        return x

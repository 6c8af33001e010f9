"""Markers of a network's conversions to integers and back."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Observes its input. `convert` replaces it by a `Quantize`.

    Args:
        qconfig (QConfig, optional): The observers, by default the parent's configuration.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> tq.QuantStub()(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x


class DeQuantStub(Module):
    """Returns its input. `convert` replaces it by a `DeQuantize`.

    Args:
        qconfig (QConfig, optional): The configuration, by default the parent's.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> tq.DeQuantStub()(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`.

    Args:
        module (Module): The module to wrap. The stubs take its `qconfig`, if it has one.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> tq.QuantWrapper(tl_nn.Linear(2, 1))(tl_core.ones(3, 2)).shape
        torch.Size([3, 1])
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        """The module's result, quantized before and dequantized after."""
        quantized: Tensor = self.quant(X)
        result: Tensor = self.dequant(self.module(quantized))
        return result

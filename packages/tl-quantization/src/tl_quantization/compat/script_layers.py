"""The quantized layers of TorchScript, which PyTorch has removed, too: each raises and names the layer of today."""

from __future__ import annotations

from typing import Any

__all__ = [
    "QuantizedGRU",
    "QuantizedGRUCell",
    "QuantizedLSTM",
    "QuantizedLSTMCell",
    "QuantizedLinear",
    "QuantizedLinearFP16",
    "QuantizedRNNBase",
    "QuantizedRNNCell",
    "QuantizedRNNCellBase",
    "quantize_linear_modules",
    "quantize_rnn_cell_modules",
    "quantize_rnn_modules",
]


class _Removed:
    """A layer that raises.

    Args:
        *args: of no effect.
        **kwargs: of no effect.

    Raises:
        RuntimeError: always, with the name of the layer that replaces it.
    """

    successor = "Linear"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"torch.jit.{type(self).__name__} is no longer supported. Please use "
            f"torch.ao.nn.quantized.dynamic.{self.successor} instead."
        )


class QuantizedLinear(_Removed):
    """A linear layer of int8. Use `nn.quantized.dynamic.Linear`."""


class QuantizedLinearFP16(_Removed):
    """A linear layer of float16. Use `nn.quantized.dynamic.Linear`."""


class QuantizedRNNCellBase(_Removed):
    """A recurrent cell. Use `nn.quantized.dynamic.RNNCell`."""

    successor = "RNNCell"


class QuantizedRNNCell(QuantizedRNNCellBase):
    """A recurrent cell. Use `nn.quantized.dynamic.RNNCell`."""


class QuantizedLSTMCell(QuantizedRNNCellBase):
    """An LSTM's cell. Use `nn.quantized.dynamic.LSTMCell`."""

    successor = "LSTMCell"


class QuantizedGRUCell(QuantizedRNNCellBase):
    """A GRU's cell. Use `nn.quantized.dynamic.GRUCell`."""

    successor = "GRUCell"


class QuantizedRNNBase(_Removed):
    """Recurrent layers. Use `nn.quantized.dynamic.LSTM`."""

    successor = "LSTM"


class QuantizedLSTM(QuantizedRNNBase):
    """An LSTM. Use `nn.quantized.dynamic.LSTM`."""


class QuantizedGRU(QuantizedRNNBase):
    """A GRU. Use `nn.quantized.dynamic.GRU`."""

    successor = "GRU"


def _refuse(name: str) -> Any:
    raise RuntimeError(
        f"torch.jit.{name} function is no longer supported. Please use torch.ao.quantization.quantize_dynamic instead."
    )


def quantize_rnn_cell_modules(module: Any) -> Any:
    """Raises RuntimeError. Use `quantize_dynamic`.

    Args:
        module: of no effect.
    """
    _refuse("quantize_rnn_cell_modules")


def quantize_linear_modules(module: Any, dtype: Any = None) -> Any:
    """Raises RuntimeError. Use `quantize_dynamic`.

    Args:
        module: of no effect.
        dtype: of no effect.
    """
    _refuse("quantize_linear_modules")


def quantize_rnn_modules(module: Any, dtype: Any = None) -> Any:
    """Raises RuntimeError. Use `quantize_dynamic`.

    Args:
        module: of no effect.
        dtype: of no effect.
    """
    _refuse("quantize_rnn_modules")

"""An LSTM whose parts have observers of their own."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

_TEXT = (
    "{} isn't there: a quantizable LSTM has one observer for each of its functions; replace the observers of "
    "tl_quantization.nn.quantizable.LSTM after prepare"
)


def _get_lstm_with_individually_observed_parts(float_lstm: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(_TEXT.format("_get_lstm_with_individually_observed_parts"))


def _get_reference_quantized_lstm_module(observed_lstm: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(_TEXT.format("_get_reference_quantized_lstm_module"))

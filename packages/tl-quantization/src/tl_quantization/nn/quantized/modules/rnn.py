"""Recurrent layers with weights and states of integers."""

from __future__ import annotations

from typing import Any

from ...quantizable.modules.rnn import LSTM as _Quantizable
from .utils import with_parts_of

__all__ = ["LSTM"]


class LSTM(_Quantizable):
    """A `quantizable.LSTM` whose parts have been converted.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        num_layers: the number of layers on top of each other.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension.
        dropout: of no effect, with a warning.
        bidirectional: whether each layer also runs backward.
        device: where the parameters are made.
        dtype: the type of the weights: qint8 or float16.
    """

    _FLOAT_MODULE: Any = _Quantizable

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_observed(cls, other: Any) -> LSTM:
        """The layer on the parts of one whose parts have been converted."""
        return with_parts_of(cls, other)

"""Recurrent layers with weights and states of integers."""

from __future__ import annotations

from typing import Any

from ...quantizable.modules.rnn import LSTM as _Quantizable
from .utils import with_parts_of

__all__ = ["LSTM"]


class LSTM(_Quantizable):
    """A `quantizable.LSTM` whose parts have been converted."""

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_observed(cls, other: Any) -> LSTM:
        """The layer on the parts of one whose parts have been converted."""
        return with_parts_of(cls, other)

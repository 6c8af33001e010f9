"""`quantized::` operators of recurrent cells, whose inputs and states are rounded at each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from ..packed.cell import CellMatrices, CellWeights
from ..packed.recurrence import gru_step, lstm_step
from .registry import define

__all__: list[str] = []


def _gates(input: Tensor, state: Tensor, w_ih: Any, w_hh: Any) -> tuple[Tensor, Tensor]:
    """The gates of the input and of the state. The packed weights hold the biases."""
    return w_ih.of_floats(input), w_hh.of_floats(state)


def _lstm(
    input: Tensor, hx: Sequence[Tensor], w_ih: Any, w_hh: Any, bias_ih: Tensor, bias_hh: Tensor
) -> tuple[Tensor, Tensor]:
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, but got {len(hx)}")
    return lstm_step(*_gates(input, hx[0], w_ih, w_hh), (hx[0], hx[1]))


def _gru(input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return gru_step(*_gates(input, hx, w_ih, w_hh), (hx,))[0]


def _plain(activate: Any) -> Any:
    def call(input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Tensor:
        inputs, hidden = _gates(input, hx, w_ih, w_hh)
        return activate(inputs + hidden)

    return call


def _dynamic_cell(
    w_ih: Any, w_hh: Any, bias_ih: Tensor, bias_hh: Tensor, reduce_range: bool = False
) -> CellWeights:
    """The weights of a cell. The packed weights hold the biases."""
    return CellWeights(w_ih, w_hh, reduce_range)


_CELL = "Tensor input, Tensor hx, %Linear w_ih, %Linear w_hh, Tensor b_ih, Tensor b_hh"
define(
    "quantized",
    {
        "quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, %Linear w_ih, %Linear w_hh, Tensor bias_ih, "
        "Tensor bias_hh) -> (Tensor, Tensor)": _lstm,
        "make_quantized_cell_params_dynamic(%Linear w_ih, %Linear w_hh, Tensor bias_ih, Tensor bias_hh, "
        "bool reduce_range=False) -> %Cell": _dynamic_cell,
        "make_quantized_cell_params_fp16(%Linear w_ih, %Linear w_hh) -> %Cell": CellWeights,
        "make_quantized_cell_params(Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh) -> %Cell": (
            CellMatrices.of_floats
        ),
        f"quantized_gru_cell_dynamic({_CELL}) -> Tensor": _gru,
        f"quantized_rnn_relu_cell_dynamic({_CELL}) -> Tensor": _plain(tl_core.relu),
        f"quantized_rnn_tanh_cell_dynamic({_CELL}) -> Tensor": _plain(tl_core.tanh),
    },
)

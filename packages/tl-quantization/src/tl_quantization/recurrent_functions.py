"""Recurrent networks and cells with weights of integers, as functions of packed weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor, relu, tanh
from tl_core.overrides import overridable

from .packed.cell import CellMatrices
from .packed.recurrence import Layers, gru_step, lstm_step

__all__: list[str] = []


def _check(
    name: str, mode: str, has_biases: bool, params: Sequence[Any], num_layers: int, both: bool
) -> None:
    if not has_biases:
        raise RuntimeError(f"{name}: quantized {mode} requires biases, but has_biases is False")
    count = num_layers * (2 if both else 1)
    if len(params) != count:
        raise RuntimeError(f"{name}: params must have {count} cells, but got {len(params)}")


def _run(name: str, mode: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Tensor, ...]:
    """The outputs and last states of a network, from the arguments of an operator."""
    is_packed = isinstance(args[1], Tensor) and (mode == "LSTM" or isinstance(args[2], Tensor))
    names = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
    heads = ("data", "batch_sizes", "hx") if is_packed else ("input", "hx")
    names = (*heads, *names) if is_packed else (*heads, *names, "batch_first")
    if len(args) + len(named) < len(names) or len(args) > len(names):
        raise TypeError(f"{name}() takes {', '.join(names)}")
    values = dict(zip(names, args)) | named
    hx = values["hx"]
    start = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    params, both = values["params"], values["bidirectional"]
    _check(name, mode, values["has_biases"], params, values["num_layers"], both)
    layers = Layers(mode, params, both, values["dropout"] if values["train"] else 0.0)
    if is_packed:
        output, states = layers.run(values["data"], start, values["batch_sizes"].tolist())
        return output, *states
    x = values["input"]
    output, states = layers.run(x.transpose(0, 1) if values["batch_first"] else x, start)
    return output.transpose(0, 1) if values["batch_first"] else output, *states


@overridable
def quantized_lstm(
    input: Tensor, *args: Any, dtype: Any = None, use_dynamic: bool = False, **named: Any
) -> tuple[Tensor, ...]:
    """The outputs of an LSTM with packed weights, and the last states and cells.

    Args:
        input: of shape (length, batch, input_size), or the data of a packed sequence.
        *args: `hx`, `params`, `has_biases`, `num_layers`, `dropout`, `train`, `bidirectional` and `batch_first`. For
            a packed sequence, `batch_sizes` stands before these, and `batch_first` is absent.
        dtype: the type of the weights, which the packed weights have too.
        use_dynamic: whether inputs are quantized at each call, which the packed weights say too.
        **named: arguments by their names.

    Raises:
        RuntimeError: there are no biases, or a number of cells that the layers do not have.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> cells = [entry.param for entry in dynamic.LSTM(3, 4)._all_weight_values]
        >>> zeros = tl_core.zeros(1, 2, 4)
        >>> x = tl_core.ones(5, 2, 3)
        >>> quantized_lstm(x, (zeros, zeros), cells, True, 1, 0.0, False, False, False)[0].shape
        torch.Size([5, 2, 4])
    """
    return _run("quantized_lstm", "LSTM", (input, *args), named)


@overridable
def quantized_gru(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
    """The outputs of a GRU with packed weights, and the last states.

    Args:
        input: of shape (length, batch, input_size), or the data of a packed sequence.
        *args: the arguments of `quantized_lstm`.
        **named: arguments by their names.

    Raises:
        RuntimeError: there are no biases, or a number of cells that the layers do not have.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> cells = [entry.param for entry in dynamic.GRU(3, 4)._all_weight_values]
        >>> x = tl_core.ones(5, 2, 3)
        >>> quantized_gru(x, tl_core.zeros(1, 2, 4), cells, True, 1, 0.0, False, False, False)[0].shape
        torch.Size([5, 2, 4])
    """
    return _run("quantized_gru", "GRU", (input, *args), named)


def _gates(input: Tensor, state: Tensor, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """The gates of a cell, from the arguments of an operator behind the state."""
    if len(args) != 12:
        raise TypeError(f"a quantized cell takes 12 arguments behind its state, but got {len(args)}")
    w_ih, w_hh, b_ih, b_hh, _, _, offsets_ih, offsets_hh, scale_ih, scale_hh, zero_ih, zero_hh = args
    cell = CellMatrices(
        (w_ih, w_hh), (b_ih, b_hh), (offsets_ih, offsets_hh), (scale_ih, scale_hh), (zero_ih, zero_hh)
    )
    return cell.of_input(input), cell.of_state(state)


@overridable
def quantized_lstm_cell(input: Tensor, hx: Sequence[Tensor], *args: Any) -> tuple[Tensor, Tensor]:
    """The next state and cell of an LSTM, with weights of bytes and floating activations.

    Args:
        input: of shape (batch, input_size).
        hx: the state and the cell.
        *args: `w_ih`, `w_hh`, `b_ih`, `b_hh`, `packed_ih`, `packed_hh`, `col_offsets_ih`, `col_offsets_hh`, `scale_ih`,
            `scale_hh`, `zero_point_ih` and `zero_point_hh`, of `fbgemm_linear_quantize_weight`.

    Example:
        >>> import tl_core
        >>> from tl_core.operators import packets
        >>> w, offsets, scale, zero = packets.aten.fbgemm_linear_quantize_weight(tl_core.ones(8, 2))
        >>> args = (w, w, *[tl_core.zeros(8)] * 2, w, w, offsets, offsets, scale, scale, zero, zero)
        >>> quantized_lstm_cell(tl_core.ones(1, 2), [tl_core.zeros(1, 2)] * 2, *args)[0].shape
        torch.Size([1, 2])
    """
    if len(hx) != 2:
        raise RuntimeError(f"quantized_lstm_cell expects two hidden states, but got {len(hx)}")
    return lstm_step(*_gates(input, hx[0], args), (hx[0], hx[1]))


@overridable
def quantized_gru_cell(input: Tensor, hx: Tensor, *args: Any) -> Tensor:
    """The next state of a GRU, with weights of bytes and floating activations.

    Args:
        input: of shape (batch, input_size).
        hx: the state.
        *args: as of `quantized_lstm_cell`.

    Example:
        >>> import tl_core
        >>> from tl_core.operators import packets
        >>> w, offsets, scale, zero = packets.aten.fbgemm_linear_quantize_weight(tl_core.ones(6, 2))
        >>> args = (w, w, *[tl_core.zeros(6)] * 2, w, w, offsets, offsets, scale, scale, zero, zero)
        >>> quantized_gru_cell(tl_core.ones(1, 2), tl_core.zeros(1, 2), *args).shape
        torch.Size([1, 2])
    """
    return gru_step(*_gates(input, hx, args), (hx,))[0]


@overridable
def quantized_rnn_relu_cell(input: Tensor, hx: Tensor, *args: Any) -> Tensor:
    """The next state of a plain cell with ReLU, with weights of bytes and floating activations.

    Args:
        input: of shape (batch, input_size).
        hx: the state.
        *args: as of `quantized_lstm_cell`.

    Example:
        >>> import tl_core
        >>> from tl_core.operators import packets
        >>> w, offsets, scale, zero = packets.aten.fbgemm_linear_quantize_weight(tl_core.ones(2, 2))
        >>> args = (w, w, *[tl_core.zeros(2)] * 2, w, w, offsets, offsets, scale, scale, zero, zero)
        >>> quantized_rnn_relu_cell(tl_core.ones(1, 2), tl_core.zeros(1, 2), *args).round()
        tensor([[2., 2.]])
    """
    inputs, hidden = _gates(input, hx, args)
    return relu(inputs + hidden)


@overridable
def quantized_rnn_tanh_cell(input: Tensor, hx: Tensor, *args: Any) -> Tensor:
    """The next state of a plain cell with tanh, with weights of bytes and floating activations.

    Args:
        input: of shape (batch, input_size).
        hx: the state.
        *args: as of `quantized_lstm_cell`.

    Example:
        >>> import tl_core
        >>> from tl_core.operators import packets
        >>> w, offsets, scale, zero = packets.aten.fbgemm_linear_quantize_weight(tl_core.ones(2, 2))
        >>> args = (w, w, *[tl_core.zeros(2)] * 2, w, w, offsets, offsets, scale, scale, zero, zero)
        >>> quantized_rnn_tanh_cell(tl_core.zeros(1, 2), tl_core.zeros(1, 2), *args)
        tensor([[0., 0.]])
    """
    inputs, hidden = _gates(input, hx, args)
    return tanh(inputs + hidden)

"""LSTMs made of linear layers and of operators whose results can be observed."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor

__all__ = ["LSTM", "LSTMCell"]

_GATES = ("input_gate", "forget_gate", "cell_gate", "output_gate")


def _functional() -> Any:
    from ...quantized.modules.functional_modules import FloatFunctional

    return FloatFunctional()


class LSTMCell(nn.Module):
    """`tl_nn.LSTMCell` made of parts that can be quantized.

    Args:
        input_dim, hidden_dim (int): The sizes of the input and of the state.
        bias (bool): Whether there are biases.
        device, dtype (optional): Of the parameters.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn import quantizable
        >>> quantizable.LSTMCell(3, 5)(tl_core.ones(2, 3))[0].shape
        torch.Size([2, 5])
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        kwargs = {"device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias = input_dim, hidden_dim, bias
        self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **kwargs)
        self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **kwargs)
        self.gates = _functional()
        for name in _GATES:
            self.add_module(name, nn.Tanh() if name == "cell_gate" else nn.Sigmoid())
        self.fgate_cx, self.igate_cgate = _functional(), _functional()
        self.fgate_cx_igate_cgate, self.ogate_cy = _functional(), _functional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, Any]:
        """The next state and cell for an input of shape (batch, input_dim)."""
        if hidden is None:
            hidden = self.initialize_hidden(x.shape[0], getattr(x, "is_quantized", False))
        hx, cx = hidden
        summed = self.gates.add(self.igates(x), self.hgates(hx))
        parts = [getattr(self, name)(part) for name, part in zip(_GATES, summed.chunk(4, 1))]
        input_gate, forget_gate, cell_gate, output_gate = parts
        cy = self.fgate_cx_igate_cgate.add(
            self.fgate_cx.mul(forget_gate, cx), self.igate_cgate.mul(input_gate, cell_gate)
        )
        return self.ogate_cy.mul(output_gate, tl_core.tanh(cy)), cy

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> tuple[Any, Any]:
        """Zeros of shape (batch, hidden_dim), quantized if the input is."""
        h, c = (tl_core.zeros(batch_size, self.hidden_size) for _ in range(2))
        if not is_quantized:
            return h, c
        from ....dtypes import quint8
        from ....functions import quantize_per_tensor

        qparams = self.initial_hidden_state_qparams, self.initial_cell_state_qparams
        return tuple(quantize_per_tensor(x, *q, quint8) for x, q in zip((h, c), qparams))

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls, wi: Tensor, wh: Tensor, bi: Tensor | None = None, bh: Tensor | None = None
    ) -> LSTMCell:
        """The cell with these weights, of shape (4 * hidden, size), and biases."""
        if (bi is None) != (bh is None):
            raise AssertionError("expected both biases or neither")
        cell = cls(wi.shape[1], wh.shape[1], bias=bi is not None)
        for layer, weight, bias in ((cell.igates, wi, bi), (cell.hgates, wh, bh)):
            layer.weight = nn.Parameter(weight)
            if bias is not None:
                layer.bias = nn.Parameter(bias)
        return cell

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False) -> LSTMCell:
        """The cell with the parameters of a `tl_nn.LSTMCell`."""
        cell = cls.from_params(other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh)
        if hasattr(other, "qconfig"):
            cell.qconfig = other.qconfig
        return cell


class LSTM(nn.Module):
    """`tl_nn.LSTM` of parts that can be quantized, without projection and packed sequences.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: As of `tl_nn.LSTM`.
        device, dtype (optional): Of the parameters.

    Example:
        >>> import tl_core
        >>> out, (h, c) = LSTM(3, 5, num_layers=2)(tl_core.ones(7, 2, 3))
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, but got {dropout}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        directions = 2 if bidirectional else 1
        sizes = [input_size, *[hidden_size * directions] * (num_layers - 1)]
        kwargs = {"device": device, "dtype": dtype}
        cells = [LSTMCell(size, hidden_size, bias, **kwargs) for size in sizes for _ in range(directions)]
        self.layers = nn.ModuleList(cells)

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """The states of the last layer, and the last state and cell of each layer and direction."""
        x = x.transpose(0, 1) if self.batch_first else x
        directions = 2 if self.bidirectional else 1
        states = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                number = layer * directions + direction
                start = None if hidden is None else (hidden[0][number], hidden[1][number])
                output, state = _run(self.layers[number], x, start, direction == 1)
                outputs.append(output)
                states.append(state)
            x = outputs[0] if directions == 1 else tl_core.cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = nn.functional.dropout(x, self.dropout, self.training)
        last = tuple(tl_core.stack([s[i] for s in states]) for i in range(2))
        return (x.transpose(0, 1) if self.batch_first else x), last  # type: ignore[return-value]

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, use_precomputed_fake_quant: bool = False) -> LSTM:
        """The layer with the parameters of a `tl_nn.LSTM`, and its configuration.

        Raises:
            NotImplementedError: If that projects its states.
        """
        if getattr(other, "proj_size", 0):
            raise NotImplementedError("proj_size must be 0 for a quantizable LSTM")
        lstm = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout,
            other.bidirectional,
        )  # fmt: skip
        tails = ["", "_reverse"] if other.bidirectional else [""]
        names = [f"l{layer}{tail}" for layer in range(other.num_layers) for tail in tails]
        for i, name in enumerate(names):
            kinds = ("weight_ih_", "weight_hh_") + (("bias_ih_", "bias_hh_") if other.bias else ())
            lstm.layers[i] = LSTMCell.from_params(*(getattr(other, kind + name) for kind in kinds))
        config = qconfig or getattr(other, "qconfig", None)
        if config is not None:
            lstm.qconfig = config
        return lstm.train(other.training)


def _run(cell: LSTMCell, x: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
    """All steps of one layer in one direction."""
    outputs = []
    for step in reversed(range(len(x))) if reverse else range(len(x)):
        state = cell(x[step], state)
        outputs.append(state[0])
    return tl_core.stack(outputs[::-1] if reverse else outputs), state

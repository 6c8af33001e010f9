"""LSTMs made of linear layers and of operators whose results can be observed."""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor

__all__ = ["LSTM", "LSTMCell"]

_GATES = ("input", "forget", "cell", "output")


def _functional() -> Any:
    from ...quantized.modules.functional_modules import FloatFunctional

    return FloatFunctional()


class LSTMCell(nn.Module):
    """`tl_nn.LSTMCell` made of parts that can be quantized.

    Args:
        input_dim, hidden_dim (int): The sizes of the input and of the state.
        bias (bool): Whether there are biases.
        device, dtype (optional): Of the parameters.
        split_gates (bool): Whether each gate has linear layers of its own.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn import quantizable
        >>> quantizable.LSTMCell(3, 5)(tl_core.ones(2, 3))[0].shape
        torch.Size([2, 5])
    """

    _FLOAT_MODULE: Any = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        kwargs = {"bias": bias, "device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias = input_dim, hidden_dim, bias
        self.split_gates = split_gates
        self.igates: Any
        self.hgates: Any
        self.gates: Any
        if split_gates:
            self.igates = nn.ModuleDict({g: nn.Linear(input_dim, hidden_dim, **kwargs) for g in _GATES})
            self.hgates = nn.ModuleDict({g: nn.Linear(hidden_dim, hidden_dim, **kwargs) for g in _GATES})
            self.gates = nn.ModuleDict({g: _functional() for g in _GATES})
        else:
            self.igates = nn.Linear(input_dim, 4 * hidden_dim, **kwargs)
            self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, **kwargs)
            self.gates = _functional()
        for name in _GATES:
            self.add_module(f"{name}_gate", nn.Tanh() if name == "cell" else nn.Sigmoid())
        self.fgate_cx, self.igate_cgate = _functional(), _functional()
        self.fgate_cx_igate_cgate, self.ogate_cy = _functional(), _functional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype: Any = None
        self.cell_state_dtype: Any = None

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, Any]:
        """The next state and cell for an input of shape (batch, input_dim)."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], getattr(x, "is_quantized", False))
        hx, cx = hidden
        i, f, c, o = self._sum_gates(x, hx)
        input_gate, forget_gate = self.input_gate(i), self.forget_gate(f)
        cell_gate, output_gate = self.cell_gate(c), self.output_gate(o)
        memory = self.fgate_cx.mul(forget_gate, cx)
        cy = self.fgate_cx_igate_cgate.add(memory, self.igate_cgate.mul(input_gate, cell_gate))
        return self.ogate_cy.mul(output_gate, tl_core.tanh(cy)), cy

    def _sum_gates(self, x: Any, hx: Any) -> Any:
        """The sums of both products for the four gates."""
        if self.split_gates:
            return [self.gates[g].add(self.igates[g](x), self.hgates[g](hx)) for g in _GATES]
        i, f, c, o = self.gates.add(self.igates(x), self.hgates(hx)).chunk(4, 1)
        return i, f, c, o

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> tuple[Any, Any]:
        """Zeros of shape (batch, hidden_dim), quantized if the input is."""
        h, c = (tl_core.zeros(batch_size, self.hidden_size) for _ in range(2))
        if not is_quantized:
            return h, c
        from ....dtypes import quint8
        from ....functions import quantize_per_tensor

        qparams = self.initial_hidden_state_qparams, self.initial_cell_state_qparams
        types = self.hidden_state_dtype or quint8, self.cell_state_dtype or quint8
        return tuple(quantize_per_tensor(x, *q, t) for x, q, t in zip((h, c), qparams, types))

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls,
        wi: Tensor,
        wh: Tensor,
        bi: Tensor | None = None,
        bh: Tensor | None = None,
        split_gates: bool = False,
    ) -> LSTMCell:
        """The cell with these weights, of shape (4 * hidden, size), and biases."""
        if (bi is None) != (bh is None):
            raise AssertionError("expected both biases or neither")
        cell = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for layers, weight, bias in ((cell.igates, wi, bi), (cell.hgates, wh, bh)):
            parts = list(layers.values()) if split_gates else [layers]
            for i, layer in enumerate(parts):
                layer.weight = nn.Parameter(weight.chunk(len(parts))[i])
                if bias is not None:
                    layer.bias = nn.Parameter(bias.chunk(len(parts))[i])
        return cell

    @classmethod
    def from_float(
        cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False
    ) -> LSTMCell:
        """The cell with the parameters of a `tl_nn.LSTMCell`."""
        cell = cls.from_params(
            other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh, split_gates=split_gates
        )
        if hasattr(other, "qconfig"):
            cell.qconfig = other.qconfig
        return cell


class _LSTMSingleLayer(nn.Module):
    """All steps of one layer in one direction."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, Any]:
        """The states of all steps, and the last state and cell."""
        states = []
        for step in range(len(x)):
            hidden = self.cell(x[step], hidden)
            states.append(hidden[0])
        return tl_core.stack(states), hidden


class _LSTMLayer(nn.Module):
    """One layer, in one direction or both."""

    def __init__(self, cells: list[LSTMCell], batch_first: bool = False) -> None:
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, len(cells) > 1
        self.layer_fw = _LSTMSingleLayer(cells[0])
        if self.bidirectional:
            self.layer_bw = _LSTMSingleLayer(cells[1])

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, Any]:
        """The states of all steps, and the last states and cells, stacked for two directions."""
        x = x.transpose(0, 1) if self.batch_first else x
        if not self.bidirectional:
            result, state = self.layer_fw(x, hidden)
        else:
            starts = [None, None] if hidden is None else [(hidden[0][i], hidden[1][i]) for i in range(2)]
            forward, one = self.layer_fw(x, starts[0])
            backward, two = self.layer_bw(_reverse(x), starts[1])
            result = tl_core.cat([forward, _reverse(backward)], -1)
            state = tuple(tl_core.stack([one[i], two[i]]) for i in range(2))
        return (result.transpose(0, 1) if self.batch_first else result), state

    @classmethod
    def from_float(cls, other: Any, layer_idx: int = 0, qconfig: Any = None, **kwargs: Any) -> _LSTMLayer:
        """One layer of a `tl_nn.LSTM`. Keywords: `batch_first`, `split_gates`."""
        kinds = {"wi": "weight_ih_", "wh": "weight_hh_"}
        kinds |= {"bi": "bias_ih_", "bh": "bias_hh_"} if other.bias else {}
        cells = []
        for tail in ("", "_reverse") if other.bidirectional else ("",):
            tensors = {key: getattr(other, f"{kind}l{layer_idx}{tail}") for key, kind in kinds.items()}
            cells.append(LSTMCell.from_params(**tensors, split_gates=kwargs.get("split_gates", False)))
        layer = cls(cells, kwargs.get("batch_first", other.batch_first))
        config = getattr(other, "qconfig", qconfig)
        if config is not None:
            layer.qconfig = config
        return layer


def _reverse(x: Any) -> Any:
    return tl_core.stack([x[i] for i in reversed(range(len(x)))])


class LSTM(nn.Module):
    """`tl_nn.LSTM` of parts that can be quantized, without projection and packed sequences.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, bidirectional: As of `tl_nn.LSTM`.
        dropout (float): Of no effect, with a warning.
        device, dtype (optional): Of the parameters.
        split_gates (bool): Whether each gate has linear layers of its own.

    Raises:
        ValueError: If `dropout` isn't from 0 to 1.

    Example:
        >>> import tl_core
        >>> out, (h, c) = LSTM(3, 5, num_layers=2)(tl_core.ones(7, 2, 3))
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]))
    """

    _FLOAT_MODULE: Any = nn.LSTM

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
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be a number from 0 to 1, but got {dropout}")
        if dropout:
            warnings.warn(
                "dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version "
                "followed by `prepare` step.",
                stacklevel=2,
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        directions = 2 if bidirectional else 1
        sizes = [input_size, *[hidden_size * directions] * (num_layers - 1)]
        kwargs = {"device": device, "dtype": dtype, "split_gates": split_gates}
        self.layers = nn.ModuleList(
            _LSTMLayer([LSTMCell(size, hidden_size, bias, **kwargs) for _ in range(directions)])
            for size in sizes
        )
        self.train(False)

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    def forward(self, x: Any, hidden: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """The states of the last layer, and the last state and cell of each layer and direction."""
        x = x.transpose(0, 1) if self.batch_first else x
        states = []
        for i, layer in enumerate(self.layers):
            x, state = layer(x, None if hidden is None else self._start(hidden, i))
            states += [(state[0][d], state[1][d]) for d in range(2)] if self.bidirectional else [state]
        last = tuple(tl_core.stack([s[i] for s in states]) for i in range(2))
        return (x.transpose(0, 1) if self.batch_first else x), last  # type: ignore[return-value]

    def _start(self, hidden: Any, i: int) -> tuple[Any, Any]:
        """The state and cell that a layer begins with, of both directions if there are two."""
        if not self.bidirectional:
            return hidden[0][i], hidden[1][i]
        return hidden[0][2 * i : 2 * i + 2], hidden[1][2 * i : 2 * i + 2]

    @classmethod
    def from_float(
        cls,
        other: Any,
        qconfig: Any = None,
        use_precomputed_fake_quant: bool = False,
        split_gates: bool = False,
    ) -> LSTM:
        """The layer with the parameters of a `tl_nn.LSTM`, and its configuration.

        Raises:
            NotImplementedError: If that projects its states.
        """
        if getattr(other, "proj_size", 0):
            raise NotImplementedError("proj_size must be 0 for a quantizable LSTM")
        lstm = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout,
            other.bidirectional, split_gates=split_gates,
        )  # fmt: skip
        for i in range(other.num_layers):
            lstm.layers[i] = _LSTMLayer.from_float(
                other, i, qconfig, batch_first=False, split_gates=split_gates
            )
        config = qconfig or getattr(other, "qconfig", None)
        if config is not None:
            lstm.qconfig = config
        return lstm.train(other.training)

"""Recurrent layers with weights of integers, which quantize inputs and states at each step."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module
from tl_nn import functional as F
from tl_nn.utils.rnn import PackedSequence

from .....dtypes import qint8
from .....packed.half import HalfLinear
from .....packed.linear import PackedLinear
from ...modules.utils import empty_weight
from .linear import weight_for

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


class _Weights(Module):
    """Weights of integers, or of float16, and biases, which the state contains under their names."""

    dtype: Any

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype
        self._values: dict[str, Any] = {}

    def _put(self, name: str, value: Any) -> None:
        if name.startswith("weight"):
            value = PackedLinear(value, None) if self.dtype is qint8 else HalfLinear(value, None)
        self._values[name] = value

    def _value(self, name: str) -> Any:
        value = self._values[name]
        return value.weight() if name.startswith("weight") else value

    def _empty(self, name: str, rows: int, columns: int) -> None:
        half = tl_core.zeros(rows, columns, dtype=tl_core.float16)
        self._put(name, empty_weight((rows, columns), qint8) if self.dtype is qint8 else half)

    def __getattr__(self, name: str) -> Any:
        is_value = name in self.__dict__.get("_values", {})
        return self._value(name) if is_value else super().__getattr__(name)

    def _linear(self, x: Tensor, weight: str, bias: str) -> Tensor:
        return self._values[weight].of_floats(x, bias=self._values.get(bias))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination.update({prefix + name: self._value(name) for name in self._values})

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        for name in self._values:
            if prefix + name in state_dict:
                self._put(name, state_dict.pop(prefix + name))
            else:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)


def lstm_step(inputs: Tensor, hidden: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The next state and cell of an LSTM, from the gates of the input and of the state.

    Args:
        inputs: the four gates of the input, of shape (..., 4 * hidden_size).
        hidden: the four gates of the state.
        state: the state and the cell.
    """
    input_gate, forget_gate, cell_gate, output_gate = (inputs + hidden).chunk(4, -1)
    c = forget_gate.sigmoid() * state[1] + input_gate.sigmoid() * cell_gate.tanh()
    return output_gate.sigmoid() * c.tanh(), c


def gru_step(inputs: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The next state of a GRU, from the gates of the input and of the state.

    Args:
        inputs: the three gates of the input, of shape (..., 3 * hidden_size).
        hidden: the three gates of the state.
        state: the state.
    """
    (reset, update, new), (h_reset, h_update, h_new) = inputs.chunk(3, -1), hidden.chunk(3, -1)
    update = (update + h_update).sigmoid()
    new = (new + (reset + h_reset).sigmoid() * h_new).tanh()
    return ((state[0] - new) * update + new,)


_GATES = {"LSTM": 4, "GRU": 3}
_STEPS: dict[str, Any] = {"LSTM": lstm_step, "GRU": gru_step}


class RNNBase(_Weights):
    """The base class of the layers.

    Args:
        mode (str): "LSTM" or "GRU".
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: As of `tl_nn.RNNBase`.
        dtype (dtype): `qint8`, or float16 for weights that are only halved.

    Raises:
        ValueError: If the dropout is no probability.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = qint8,
    ) -> None:
        super().__init__(dtype)
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, but got {dropout}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = (
            mode,
            input_size,
            hidden_size,
            num_layers,
        )
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.training = bidirectional, False
        rows = _GATES[mode] * hidden_size
        for layer, tail in self._cells():
            columns = input_size if layer == 0 else hidden_size * self._directions
            self._empty(f"weight_ih_l{layer}{tail}", rows, columns)
            self._empty(f"weight_hh_l{layer}{tail}", rows, hidden_size)
            if bias:
                self._put(f"bias_ih_l{layer}{tail}", tl_core.zeros(rows))
                self._put(f"bias_hh_l{layer}{tail}", tl_core.zeros(rows))

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _cells(self) -> list[tuple[int, str]]:
        tails = ("", "_reverse") if self.bidirectional else ("",)
        return [(layer, tail) for layer in range(self.num_layers) for tail in tails]

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, dtype={self.dtype}"

    def _layer(
        self, x: Tensor, cell: tuple[int, str], state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer in one direction over inputs of shape (length, batch, size)."""
        layer, tail = cell
        inputs = self._linear(x, f"weight_ih_l{layer}{tail}", f"bias_ih_l{layer}{tail}")
        names = f"weight_hh_l{layer}{tail}", f"bias_hh_l{layer}{tail}"
        if self.dtype is qint8:
            return self._steps(inputs, names, state, bool(tail))
        outputs = []
        for step in reversed(range(len(x))) if tail else range(len(x)):
            state = _STEPS[self.mode](inputs[step], self._linear(state[0], *names), state)
            outputs.append(state[0])
        return tl_core.stack(outputs[::-1] if tail else outputs), state

    def _steps(
        self, inputs: Tensor, names: tuple[str, str], state: tuple[Tensor, ...], reverse: bool
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All steps of a layer with weights of integers, whose states are rounded to bytes at each step."""
        weight, bias = self._values[names[0]], self._values.get(names[1])
        cell = state[1] if self.mode == "LSTM" else None
        from tl_core.operators import packets  # operators without a function load when a model runs

        output, *last = packets.aten._int8_recurrent_layer(
            inputs, state[0], cell, weight.packed, weight.sums, weight.scales, weight.zero_points, bias,
            int(cell is None), reverse,
        )  # fmt: skip
        return output, tuple(last[: len(state)])

    def _run(self, x: Any, start: tuple[Tensor, ...] | None) -> tuple[Tensor, list[Tensor]]:
        if isinstance(x, PackedSequence):
            raise NotImplementedError(
                f"{self._get_name()} takes padded tensors; call pad_packed_sequence before"
            )
        batched = x.dim() == 3
        x = x.unsqueeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        if start is None:
            shape = (len(self._cells()), x.shape[1], self.hidden_size)
            start = tuple(tl_core.zeros(shape) for _ in range(2 if self.mode == "LSTM" else 1))
        elif not batched:
            start = tuple(s.unsqueeze(1) for s in start)
        output, last = self._layers(x, start)
        states = [tl_core.stack(parts) for parts in zip(*last)]
        if not batched:
            return output.squeeze(1), [s.squeeze(1) for s in states]
        return (output.transpose(0, 1) if self.batch_first else output), states

    def _layers(self, x: Tensor, start: tuple[Tensor, ...]) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        last, outputs = [], []
        for number, cell in enumerate(self._cells()):
            output, state = self._layer(x, cell, tuple(s[number] for s in start))
            outputs.append(output)
            last.append(state)
            if len(outputs) == self._directions:
                x, outputs = tl_core.cat(outputs, -1), []
                if self.dropout and cell[0] < self.num_layers - 1:
                    x = F.dropout(x, self.dropout, self.training)
        return x, last

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one. The default `qconfig` is `default_dynamic_qconfig`.

        Raises:
            NotImplementedError: If that projects its states.
        """
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError("proj_size must be 0 for a dynamically quantized layer")
        _, kind = weight_for(mod, mod.weight_ih_l0)
        module = cls(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional, dtype=kind,
        )  # fmt: skip
        _adopt(module, mod)
        return module

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """The layer for one that keeps float weights and how to quantize them.

        Args:
            ref_mod: a layer of `nn.quantized.reference`.
        """
        values = ref_mod.get_quantized_weight_bias_dict()
        module = cls(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.num_layers, ref_mod.bias, ref_mod.batch_first,
            ref_mod.dropout, ref_mod.bidirectional, dtype=ref_mod.weight_ih_l0_dtype,
        )  # fmt: skip
        _adopt_reference(module, values)
        return module


def _adopt_reference(target: _Weights, values: dict[str, Any]) -> None:
    """Takes the quantized weights and the biases of a reference layer by name."""
    for name, value in values.items():
        target._put(name, value if name.startswith("weight") else value.detach())


def _adopt(target: _Weights, mod: Any) -> None:
    """Copies and quantizes the float module's parameters by name."""
    for name in target._values:
        value = getattr(mod, name)
        target._put(name, weight_for(mod, value)[0] if name.startswith("weight") else value.detach())


class LSTM(RNNBase):
    """`tl_nn.LSTM` with weights of integers. Each step rounds inputs and states to integers.

    See `RNNBase` for the parameters.

    Example:
        >>> import tl_core, tl_nn
        >>> out, (h, c) = LSTM.from_float(tl_nn.LSTM(3, 5))(tl_core.ones(7, 2, 3))
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The states of the last layer, and the last state and cell of each layer and direction."""
        output, states = self._run(input, hx)
        return output, (states[0], states[1])


class GRU(RNNBase):
    """`tl_nn.GRU` with weights of integers. Each step rounds inputs and states to integers.

    See `RNNBase` for the parameters.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> output, state = dynamic.GRU(3, 5)(tl_core.ones(4, 2, 3))
        >>> output.shape, state.shape
        (torch.Size([4, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, Tensor]:
        """The states of the last layer, and the last state of each layer and direction."""
        output, states = self._run(input, None if hx is None else (hx,))
        return output, states[0]


class RNNCellBase(_Weights):
    """The base class of the cells.

    Args:
        input_size, hidden_size (int): The sizes of the input and of the state.
        bias (bool): Whether there are biases.
        num_chunks (int): Gates of the cell.
        dtype (dtype): `qint8`, or float16 for weights that are only halved.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4, dtype: Any = qint8
    ) -> None:
        super().__init__(dtype)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self._empty("weight_ih", rows, input_size)
        self._empty("weight_hh", rows, hidden_size)
        if bias:
            self._put("bias_ih", tl_core.zeros(rows))
            self._put("bias_hh", tl_core.zeros(rows))

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def _gates(self, input: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self._linear(input, "weight_ih", "bias_ih"), self._linear(hidden, "weight_hh", "bias_hh")

    def _start(self, input: Tensor) -> Tensor:
        return tl_core.zeros((*input.shape[:-1], self.hidden_size))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The cell for a float one. The default `qconfig` is `default_dynamic_qconfig`."""
        more = {"nonlinearity": mod.nonlinearity} if hasattr(mod, "nonlinearity") else {}
        cell = cls(mod.input_size, mod.hidden_size, mod.bias, dtype=weight_for(mod, mod.weight_ih)[1], **more)
        _adopt(cell, mod)
        return cell

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """The cell for one that keeps float weights and how to quantize them.

        Args:
            ref_mod: a cell of `nn.quantized.reference`.
        """
        more = {"nonlinearity": ref_mod.nonlinearity} if hasattr(ref_mod, "nonlinearity") else {}
        cell = cls(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.bias, dtype=ref_mod.weight_ih_dtype, **more
        )
        values = {
            "weight_ih": ref_mod.get_quantized_weight_ih(),
            "weight_hh": ref_mod.get_quantized_weight_hh(),
        }
        biases = {name: getattr(ref_mod, name) for name in ("bias_ih", "bias_hh") if ref_mod.bias}
        _adopt_reference(cell, values | biases)
        return cell


class RNNCell(RNNCellBase):
    """`tl_nn.RNNCell` with weights of integers.

    Args:
        input_size, hidden_size, bias, dtype: As of `RNNCellBase`.
        nonlinearity (str): "tanh" or "relu".

    Raises:
        RuntimeError: If the function has another name.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.RNNCell(3, 5)(tl_core.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = qint8,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, shape (batch, hidden_size)."""
        inputs, hidden = self._gates(input, self._start(input) if hx is None else hx)
        return getattr(tl_core, self.nonlinearity)(inputs + hidden)


class LSTMCell(RNNCellBase):
    """`tl_nn.LSTMCell` with weights of integers. See `RNNCellBase` for the parameters.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        bias: whether there are biases.
        dtype: the type of the weights: qint8 or float16.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.LSTMCell(3, 5)(tl_core.ones(2, 3))[0].shape
        torch.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next state and cell, shape (batch, hidden_size)."""
        state = (self._start(input), self._start(input)) if hx is None else hx
        return lstm_step(*self._gates(input, state[0]), state)


class GRUCell(RNNCellBase):
    """`tl_nn.GRUCell` with weights of integers. See `RNNCellBase` for the parameters.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        bias: whether there are biases.
        dtype: the type of the weights: qint8 or float16.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.GRUCell(3, 5)(tl_core.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, shape (batch, hidden_size)."""
        state = self._start(input) if hx is None else hx
        return gru_step(*self._gates(input, state), (state,))[0]

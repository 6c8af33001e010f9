"""Recurrent layers with weights of integers, which quantize inputs and states at each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module, ModuleList
from tl_nn.utils.rnn import PackedSequence

from .....dtypes import qint8
from .....packed.cell import CellWeights
from .....packed.half import HalfLinear
from .....packed.linear import PackedLinear
from .....packed.recurrence import GATES, Layers, gru_step, lstm_step
from ...modules.utils import empty_weight
from .linear import weight_for

__all__ = [
    "GRU",
    "LSTM",
    "GRUCell",
    "LSTMCell",
    "PackedParameter",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "apply_permutation",
    "pack_weight_bias",
]


def pack_weight_bias(qweight: Any, bias: Tensor | None, dtype: Any) -> Any:
    """A weight and a bias, packed for the kernels.

    Args:
        qweight (Tensor): The weight, of `dtype`.
        bias (Tensor, optional): Of floating numbers.
        dtype (dtype): `qint8`, or float16.

    Returns:
        PackedLinear or HalfLinear.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> w = tq.quantize_per_tensor(tl_core.ones(4, 2), 0.5, 0, tq.qint8)
        >>> pack_weight_bias(w, None, tq.qint8).weight().shape
        torch.Size([4, 2])
    """
    if dtype is qint8:
        return PackedLinear(qweight, bias)
    return HalfLinear(qweight.detach().to(tl_core.float16), bias)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The slices of a tensor in another order.

    Args:
        tensor: the tensor.
        permutation: the index of each slice, of int64.
        dim: the dimension of the slices.

    Example:
        >>> import tl_core
        >>> apply_permutation(tl_core.tensor([[1, 2]]), tl_core.tensor([1, 0]))
        tensor([[2, 1]])
    """
    return tensor.index_select(dim, permutation)


class PackedParameter(Module):
    """The weights of a cell, as one entry of a state.

    Args:
        param (CellWeights): The weights.
    """

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

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
        value = _pop_value(state_dict, prefix + "param", CellWeights, missing, errors)
        self.param = self.param if value is None else value
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)


def _pop_value(state: Any, key: str, kinds: Any, missing: list[str], errors: list[str]) -> Any:
    """An entry of a state, or None for one that isn't there or isn't packed."""
    if key not in state:
        missing.append(key)
        return None
    value = state.pop(key)
    if isinstance(value, kinds):
        return value
    errors.append(f"{key} must be a packed weight, but got {type(value).__name__}")
    return None


def _quantize_weight(mod: Any, name: str) -> tuple[Any, Any]:
    """A float module's weight in the type of its configuration, and this type."""
    return weight_for(mod, getattr(mod, name))


class RNNBase(Module):
    """The base class of the layers.

    Args:
        mode (str): "LSTM" or "GRU".
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: As of `tl_nn.RNNBase`.
        dtype (dtype): `qint8`, or float16 for weights that are only halved.

    Raises:
        ValueError: If the dropout is no probability, or the mode is another.
    """

    _version = 2

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
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, but got {dropout}")
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}; it must be LSTM or GRU")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.dtype = float(dropout), bidirectional, dtype
        self.version, self.training = 2, False
        rows = GATES[mode] * hidden_size
        zeros = tl_core.zeros(rows) if bias else None
        widths = [input_size if layer == 0 else hidden_size * self._directions for layer, _ in self._cells()]
        self._put(
            CellWeights(
                *(pack_weight_bias(_empty(rows, n, dtype), zeros, dtype) for n in (width, hidden_size))
            )
            for width in widths
        )

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _cells(self) -> list[tuple[int, str]]:
        tails = ("", "_reverse") if self.bidirectional else ("",)
        return [(layer, tail) for layer in range(self.num_layers) for tail in tails]

    def _put(self, cells: Iterable[CellWeights]) -> None:
        self._all_weight_values = ModuleList([PackedParameter(cell) for cell in cells])

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        plain = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        facts = {name: getattr(self, name) for name in plain}
        shown = "".join(f", {name}={value}" for name, value in facts.items() if value != plain[name])
        return f"{self.input_size}, {self.hidden_size}{shown}"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"  # not the entries of the state

    def _facts(self) -> list[tuple[str, Any]]:
        """The packed weights by the names that a float layer has."""
        names = [(part, layer, tail) for layer, tail in self._cells() for part in ("ih", "hh")]
        cells = [entry.param for entry in self._all_weight_values for _ in range(2)]
        return [
            (f"{part}_l{layer}{tail}", getattr(cell, part)) for (part, layer, tail), cell in zip(names, cells)
        ]

    def get_weight(self) -> dict[str, Any]:
        """The weights by name: `weight_ih_l0` and so on."""
        return {f"weight_{name}": packed.weight() for name, packed in self._facts()}

    def get_bias(self) -> dict[str, Tensor | None]:
        """The biases by name: `bias_ih_l0` and so on."""
        return {f"bias_{name}": packed.bias for name, packed in self._facts()}

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Replaces weights and biases.

        Args:
            weight_bias_dict: the values by name: `weight_ih_l0`, `bias_ih_l0` and so on.
        """

        def packed_weight(name: str) -> Any:
            weight, bias = weight_bias_dict[f"weight_{name}"], weight_bias_dict.get(f"bias_{name}")
            return pack_weight_bias(weight, bias, self.dtype)

        self._put(
            CellWeights(packed_weight(f"ih_l{layer}{tail}"), packed_weight(f"hh_l{layer}{tail}"))
            for layer, tail in self._cells()
        )

    def _check_states(
        self, x: Tensor, start: tuple[Tensor, ...] | None, batch: int, rank: int
    ) -> tuple[Tensor, ...]:
        """The first states. Raises RuntimeError for an input or a state of another shape."""
        if x.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {x.dim()}")
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        shape = (len(self._all_weight_values), batch, self.hidden_size)
        count = 2 if self.mode == "LSTM" else 1
        if start is None:
            return (tl_core.zeros(shape),) * count
        for number, state in enumerate(start):
            if tuple(state.shape) != shape:
                name = f"hidden[{number}]" if count == 2 else "hidden"
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")
        return start

    def _network(self) -> Layers:
        cells = [entry.param for entry in self._all_weight_values]
        return Layers(self.mode, cells, self.bidirectional, self.dropout if self.training else 0.0)

    def _run(self, x: Any, start: tuple[Tensor, ...] | None) -> tuple[Any, list[Tensor]]:
        if isinstance(x, PackedSequence):
            return self._run_packed(x, start)
        batched = x.dim() != 2
        x = x.unsqueeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        if start is not None and not batched:
            start = tuple(s.unsqueeze(1) for s in start)
        output, states = self._network().run(
            x, self._check_states(x, start, x.shape[1] if x.dim() > 1 else 0, 3)
        )
        if not batched:
            return output.squeeze(1), [s.squeeze(1) for s in states]
        return (output.transpose(0, 1) if self.batch_first else output), states

    def _run_packed(self, x: PackedSequence, start: tuple[Tensor, ...] | None) -> tuple[Any, list[Tensor]]:
        sizes = x.batch_sizes.tolist()
        if start is not None and x.sorted_indices is not None:
            start = tuple(apply_permutation(s, x.sorted_indices) for s in start)
        output, states = self._network().run(x.data, self._check_states(x.data, start, sizes[0], 2), sizes)
        if x.unsorted_indices is not None:
            states = [apply_permutation(s, x.unsorted_indices) for s in states]
        return PackedSequence(output, x.batch_sizes, x.sorted_indices, x.unsorted_indices), states

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one. The default `qconfig` is `default_dynamic_qconfig`.

        Raises:
            NotImplementedError: If that projects its states.
        """
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError("proj_size must be 0 for a dynamically quantized layer")
        module = cls(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional, dtype=_quantize_weight(mod, "weight_ih_l0")[1],
        )  # fmt: skip
        tails = [f"{part}_l{layer}{tail}" for layer, tail in module._cells() for part in ("ih", "hh")]
        values = {f"weight_{tail}": _quantize_weight(mod, f"weight_{tail}")[0] for tail in tails}
        biases = {f"bias_{tail}": getattr(mod, f"bias_{tail}") for tail in tails} if mod.bias else {}
        module.set_weight_bias(values | biases)
        return module

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """The layer for one that keeps float weights and how to quantize them.

        Args:
            ref_mod: a layer of `nn.quantized.reference`.
        """
        module = cls(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.num_layers, ref_mod.bias, ref_mod.batch_first,
            ref_mod.dropout, ref_mod.bidirectional, dtype=ref_mod.weight_ih_l0_dtype,
        )  # fmt: skip
        module.set_weight_bias(ref_mod.get_quantized_weight_bias_dict())
        return module


def _empty(rows: int, columns: int, dtype: Any) -> Any:
    """A weight of zeros, until another replaces it."""
    shape = (rows, columns)
    return empty_weight(shape, qint8) if dtype is qint8 else tl_core.zeros(shape, dtype=tl_core.float16)


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


class RNNCellBase(Module):
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
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        rows = num_chunks * hidden_size
        zeros = tl_core.zeros(rows) if bias else None
        weights = {"ih": _empty(rows, input_size, dtype), "hh": _empty(rows, hidden_size, dtype)}
        self._put(weights, {"ih": zeros, "hh": zeros})

    def _put(self, weights: dict[str, Any], biases: dict[str, Tensor | None]) -> None:
        self._packed_weight_ih = pack_weight_bias(weights["ih"], biases["ih"], self.weight_dtype)
        self._packed_weight_hh = pack_weight_bias(weights["hh"], biases["hh"], self.weight_dtype)
        self.bias_ih, self.bias_hh = self._packed_weight_ih.bias, self._packed_weight_hh.bias

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def get_weight(self) -> dict[str, Any]:
        """The weights by name: `weight_ih` and `weight_hh`."""
        return {
            "weight_ih": self._packed_weight_ih.weight(),
            "weight_hh": self._packed_weight_hh.weight(),
        }

    def get_bias(self) -> dict[str, Tensor | None]:
        """The biases by name: `bias_ih` and `bias_hh`."""
        return {"bias_ih": self._packed_weight_ih.bias, "bias_hh": self._packed_weight_hh.bias}

    def set_weight_bias(self, weight_bias_dict: dict[str, dict[str, Any]]) -> None:
        """Replaces weights and biases.

        Args:
            weight_bias_dict: the entry "weight" with `weight_ih` and `weight_hh`, the entry "bias" with `bias_ih`
                and `bias_hh`.
        """
        weights, biases = weight_bias_dict["weight"], weight_bias_dict["bias"]
        sides = ("ih", "hh")
        self._put(
            {side: weights[f"weight_{side}"] for side in sides},
            {side: biases[f"bias_{side}"] for side in sides},
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

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
        for name in ("ih", "hh"):
            entry = f"_packed_weight_{name}"
            value = _pop_value(state_dict, prefix + entry, (PackedLinear, HalfLinear), missing, errors)
            if value is not None:
                setattr(self, entry, value)
                setattr(self, f"bias_{name}", value.bias)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)

    def _gates(self, input: Tensor, *states: Tensor) -> tuple[Tensor, Tensor]:
        """The gates of the input and of the first state. Raises RuntimeError for those of another shape."""
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]}, expected {self.input_size}"
            )
        for number, state in enumerate(states):
            label = f"[{number}]" if len(states) > 1 else ""
            if state.shape[:-1] != input.shape[:-1]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{label} batch size {state.shape[0]}"
                )
            if state.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{label} has inconsistent hidden_size: got {state.shape[-1]}, expected {self.hidden_size}"
                )
        return self._packed_weight_ih.of_floats(input), self._packed_weight_hh.of_floats(states[0])

    def _start(self, input: Tensor) -> Tensor:
        return tl_core.zeros((*input.shape[:-1], self.hidden_size))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The cell for a float one. The default `qconfig` is `default_dynamic_qconfig`."""
        more = {"nonlinearity": mod.nonlinearity} if hasattr(mod, "nonlinearity") else {}
        weights = {side: _quantize_weight(mod, f"weight_{side}") for side in ("ih", "hh")}
        cell = cls(mod.input_size, mod.hidden_size, mod.bias, dtype=weights["ih"][1], **more)
        biases = {side: getattr(mod, f"bias_{side}") for side in weights}
        cell._put({side: weight for side, (weight, _) in weights.items()}, biases)
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
        weights = {"ih": ref_mod.get_quantized_weight_ih(), "hh": ref_mod.get_quantized_weight_hh()}
        cell._put(weights, {side: getattr(ref_mod, f"bias_{side}") for side in weights})
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
        return lstm_step(*self._gates(input, *state), state)


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

"""Recurrent layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _uniform(module: Module, hidden_size: int) -> None:
    """Draw all parameters from the uniform distribution on `±1 / sqrt(hidden_size)`."""
    bound = 1.0 / sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """Base class of the recurrent layers: their sizes, and parameters for each layer and direction.

    Args:
        mode (str): "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size, hidden_size (int): The sizes of the input and of the state.
        num_layers (int): The number of layers on top of each other.
        bias (bool): Whether there are biases.
        batch_first (bool): Whether the batch is the first dimension of input and output.
        dropout (float): The probability of dropout between layers, from 0 to 1.
        bidirectional (bool): Whether each layer also runs backward.
        proj_size (int): The size to which an LSTM's output is projected. 0 selects no projection.
        device, dtype (optional): Of the parameters.

    Raises:
        ValueError: If a size isn't positive, `dropout` isn't a probability, or `mode` has another name.

    Example:
        >>> import tl_nn
        >>> layer = tl_nn.RNNBase("GRU", 3, 5, num_layers=2)
        >>> [name for name, _ in layer.named_parameters()][:4]
        ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

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
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                self._add_layer(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _add_layer(self, layer: int, suffix: str, kind: dict[str, Any]) -> None:
        output = self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else output * (2 if self.bidirectional else 1)
        rows = _GATES[self.mode] * self.hidden_size
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, output)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{suffix}" for name in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, Parameter(tl_core.empty(shape, **kind)))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Any]:
        """All parameters in the order in which operators take them."""
        own = self._parameters
        return [own[name] if name in own else getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Of no effect: parameters needn't lie in one block."""

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        _uniform(self, self.hidden_size)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of other sizes or types.

        Raises:
            ValueError: If its type is another one than the parameters'.
            RuntimeError: If its sizes don't fit.
        """
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(f"input must have the type {weight.dtype}, got type {input.dtype}")
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape the first state must have."""
        size = self.proj_size or self.hidden_size
        return self.num_layers * (2 if self.bidirectional else 1), _batch(self, input, batch_sizes), size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Refuse a state of another shape.

        Raises:
            RuntimeError: If its shape is another one.
        """
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a first state that don't fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run over sequences.

        Args:
            input (Tensor or PackedSequence): Of shape (T, B, input_size), (B, T, input_size) with `batch_first`, or
                (T, input_size).
            hx (Tensor, shape (num_layers * directions, B, hidden_size), optional): The first state, by default zeros;
                a pair of states and cells for an LSTM.

        Returns:
            The last layer's output at all steps, and the last state.
        """
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        return self._run_padded(input, hx)

    def _run_packed(self, input: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data, batch_sizes, order, back = input
        if hx is None:
            hx = self._zero_state(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = _split(
            self._operator()(data, batch_sizes, hx, self._flat_weights, *self._settings())
        )
        return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(hidden, back)

    def _run_padded(self, input: Tensor, hx: Any) -> tuple[Any, Any]:
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        batched = input.dim() == 3
        index = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(index)
        if hx is None:
            hx = self._zero_state(input, None)
        else:
            self._check_state_dims(hx, batched)
            hx = hx if batched else _each(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(input, hx, None)
        settings = (*self._settings(), self.batch_first)
        output, hidden = _split(self._operator()(input, hx, self._flat_weights, *settings))
        if batched:
            return output, hidden
        return output.squeeze(index), _each(hidden, lambda state: state.squeeze(1))

    def _operator(self) -> Callable[..., Any]:
        return getattr(tl_core, self.mode.lower())

    def _settings(self) -> tuple[Any, ...]:
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return input.new_zeros(self.get_expected_hidden_size(input, batch_sizes))

    def _check_state_dims(self, hx: Tensor, batched: bool) -> None:
        dims = 3 if batched else 2
        if hx.dim() != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}  # as in PyTorch

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = state.copy()
        names: Any = state.pop("all_weights", None) or state.get("_all_weights")
        state.pop("_flat_weights", None)
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        self._all_weights = names
        self._flat_weights_names = [name for layer in names for name in layer]


def _check_options(
    mode: str, input_size: int, hidden_size: int, num_layers: int, dropout: Any, proj_size: int
) -> None:
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)
    is_number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
    if not (is_number and 0 <= dropout <= 1):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            f"zeroed, got {dropout!r}"
        )
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name, size in sizes.items():
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    if proj_size < 0:
        raise ValueError(
            f"proj_size should be a positive integer or zero to disable projections, got {proj_size}"
        )
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}")


def _batch(layer: RNNBase, input: Tensor, batch_sizes: Tensor | None) -> int:
    if batch_sizes is not None:
        return int(batch_sizes[0])
    return input.size(0 if layer.batch_first else 1)


def _split(results: Any) -> tuple[Any, Any]:
    """The output and the state, which is a pair for an LSTM."""
    output, *hidden = results
    return output, tuple(hidden) if len(hidden) > 1 else hidden[0]


def _each(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return tuple(change(part) for part in state) if isinstance(state, (tuple, list)) else change(state)


class RNN(RNNBase):
    """Layers of Elman units, `tanh(W x + b + U h + c)` (Elman, 1990).

    Args:
        input_size, hidden_size (int): The sizes of the input and of the state.
        num_layers (int): The number of layers on top of each other.
        nonlinearity (str): "tanh" or "relu".
        bias (bool): Whether there are biases.
        batch_first (bool): Whether the batch is the first dimension of input and output.
        dropout (float): The probability of dropout between layers, from 0 to 1.
        bidirectional (bool): Whether each layer also runs backward.
        device, dtype (optional): Of the parameters.

    Attributes:
        weight_ih_l[k], weight_hh_l[k] (Parameter, shape (hidden_size, input of layer k), (hidden_size,
            hidden_size)): Drawn, as the biases, from the uniform distribution on `±1 / sqrt(hidden_size)`.
        bias_ih_l[k], bias_hh_l[k] (Parameter, shape (hidden_size,)): The biases; the backward direction's names
            end with `_reverse`.

    Raises:
        ValueError: If an option is out of range, or the input has other dimensions.
        RuntimeError: If sizes don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> output, state = tl_nn.RNN(10, 20, 2)(tl_core.zeros(5, 3, 10))
        >>> output.shape, state.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self_options = (num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, *self_options)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Layers of gated recurrent units (Cho et al., 2014).

    Parameters and attributes are those of `RNN`, without `nonlinearity`; the rows of weights and biases are those
    of the reset, update and new gates.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        num_layers: the number of layers on top of each other.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output instead of the second.
        dropout: the probability of dropout between layers, from 0 to 1.
        bidirectional: whether each layer also runs backward.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> output, state = tl_nn.GRU(10, 20, bidirectional=True)(tl_core.zeros(5, 3, 10))
        >>> output.shape, state.shape
        (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
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
        options = (num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        super().__init__("GRU", input_size, hidden_size, *options)


class LSTM(RNNBase):
    """Layers of long short-term memory (Hochreiter and Schmidhuber, 1997), with forget gates.

    Parameters and attributes are those of `RNN`, without `nonlinearity`; the rows of weights and biases are those
    of the input, forget, cell and output gates. With `proj_size`, the output is projected to that size by
    `weight_hr_l[k]` (Sak et al., 2014).

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        num_layers: the number of layers on top of each other.
        bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output instead of the second.
        dropout: the probability of dropout between layers, from 0 to 1.
        bidirectional: whether each layer also runs backward.
        proj_size: the size to which the output is projected, less than `hidden_size`. 0 selects no projection.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> output, (state, cell) = tl_nn.LSTM(10, 20, batch_first=True)(tl_core.zeros(3, 5, 10))
        >>> output.shape, cell.shape
        (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
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
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)
        super().__init__("LSTM", input_size, hidden_size, *options)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape the first cells must have."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input, first state or first cells that don't fit."""
        self.check_input(input, batch_sizes)
        state, cell = hidden
        sizes = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(state, sizes, "Expected hidden[0] size {}, got {}")
        sizes = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(cell, sizes, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """State and cells with their sequences in another order."""
        return hx if permutation is None else _each(hx, lambda part: part.index_select(1, permutation))

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        cell = input.new_zeros(self.get_expected_cell_size(input, batch_sizes))
        return super()._zero_state(input, batch_sizes), cell

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )


class RNNCellBase(Module):
    """Base class of the recurrent cells: their sizes and parameters.

    Args:
        input_size, hidden_size (int): The sizes of the input and of the state.
        bias (bool): Whether there are biases.
        num_chunks (int): The number of gates.
        device, dtype (optional): Of the parameters.

    Example:
        >>> import tl_nn
        >>> cell = tl_nn.RNNCellBase(3, 5, bias=True, num_chunks=4)
        >>> cell.weight_ih.shape
        torch.Size([20, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        kind = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(tl_core.empty((rows, input_size), **kind))
        self.weight_hh = Parameter(tl_core.empty((rows, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(tl_core.empty(rows, **kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        _uniform(self, self.hidden_size)

    def _step(self, operator: str, input: Tensor, hx: Any) -> Any:
        """One step of the operator of that name, for a batch or a single sample."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for index, part in enumerate(hx if isinstance(hx, (tuple, list)) else [hx]):
            if part is not None and part.dim() not in (1, 2):
                which = f"hx[{index}]" if isinstance(hx, (tuple, list)) else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {part.dim()}D instead")
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        hx = (
            self._first_state(input) if hx is None else hx if batched else _each(hx, lambda s: s.unsqueeze(0))
        )
        run = getattr(tl_core, operator)
        result = run(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if batched else _each(result, lambda state: state.squeeze(0))

    def _first_state(self, input: Tensor) -> Any:
        return input.new_zeros((input.size(0), self.hidden_size))

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)


class RNNCell(RNNCellBase):
    """One step of an Elman unit, `tanh(W x + b + U h + c)`.

    Args:
        input_size, hidden_size (int): The sizes of the input and of the state.
        bias (bool): Whether there are biases.
        nonlinearity (str): "tanh" or "relu".
        device, dtype (optional): Of the parameters.

    Attributes:
        weight_ih, weight_hh (Parameter, shape (hidden_size, input_size), (hidden_size, hidden_size)): Drawn, as
            the biases, from the uniform distribution on `±1 / sqrt(hidden_size)`.
        bias_ih, bias_hh (Parameter, shape (hidden_size,)): The biases.

    Raises:
        ValueError: If the input or the state has other dimensions.
        RuntimeError: If sizes don't fit, or `nonlinearity` has another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.RNNCell(10, 20)(tl_core.zeros(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = [*RNNCellBase.__constants__, "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, shape (B, hidden_size) or (hidden_size,), after an input and a state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        result: Tensor = self._step(f"rnn_{self.nonlinearity}_cell", input, hx)
        return result


class LSTMCell(RNNCellBase):
    """One step of long short-term memory, with four gates' rows. See `RNNCell` for arguments and attributes.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        bias: whether there are biases.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> state, cell = tl_nn.LSTMCell(10, 20)(tl_core.zeros(3, 10))
        >>> state.shape, cell.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next state and cell after an input and a pair of them."""
        state, cell = self._step("lstm_cell", input, hx)
        return state, cell

    def _first_state(self, input: Tensor) -> Any:
        zeros = super()._first_state(input)
        return zeros, zeros


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit, with three gates' rows. See `RNNCell` for arguments and attributes.

    Args:
        input_size: the size of a step's input.
        hidden_size: the size of the state.
        bias: whether there are biases.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.GRUCell(10, 20)(tl_core.zeros(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, shape (B, hidden_size) or (hidden_size,), after an input and a state."""
        result: Tensor = self._step("gru_cell", input, hx)
        return result

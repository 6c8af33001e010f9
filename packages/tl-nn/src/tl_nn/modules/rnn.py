"""Recurrent layers over sequences, and the names of the cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor

from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

# The cells' documented path is here.
from .recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase, _each, _uniform

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


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


class RNN(RNNBase):
    r"""Layers of Elman units, a recurrent network over sequences.

    Formula:
        .. math::

            h_t = \tanh\bigl(W_{ih} \, x_t + b_{ih} + W_{hh} \, h_{t - 1} + b_{hh}\bigr)

        `x_t` is the input at step `t`, for a further layer the output of the layer before, and `h_t` the state,
        which is the output. `nonlinearity="relu"` replaces tanh.

    Args:
        input_size (int): The size of a step's input.
        hidden_size (int): The size of the state, H.
        num_layers (int): The number of layers. Each further layer reads the output of the one before. The default
            is 1.
        nonlinearity (str): "tanh" or "relu". The default is "tanh".
        bias (bool): Whether the layers have biases. The default is True.
        batch_first (bool): Whether the batch is the first dimension of input and output. The states aren't
            affected. The default is False.
        dropout (float): The probability of dropout after each layer but the last, in training. The default is 0.
        bidirectional (bool): Whether each layer also has a part that reads the sequence backward. The default is
            False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(T, B, input_size)`, `(B, T, input_size)` with `batch_first`, `(T, input_size)`, or a
          `PackedSequence`.
        - First state, optional: `(num_layers * D, B, H_out)` or `(num_layers * D, H_out)`.
        - Output: `(T, B, D * H_out)`, `(B, T, D * H_out)`, `(T, D * H_out)`, or a `PackedSequence`.
        - Last state: as the first.
        - D is 2 if `bidirectional`, else 1. H_out is `hidden_size`.

    Attributes:
        weight_ih_l[k] (Parameter, shape (hidden_size, I)): The weights of the input of layer `k`, with I =
            `input_size` for layer 0 and `D * H_out` for others.
        weight_hh_l[k] (Parameter, shape (hidden_size, hidden_size)): The weights of the state.
        bias_ih_l[k], bias_hh_l[k] (Parameter, shape (hidden_size,)): The biases.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. Names of the backward part end with
          `_reverse`.
        - The first state is zeros by default. The output at a step joins the forward and the backward part, whose
          state there has read the steps from the end.
        - A `PackedSequence` runs each sequence to its own end. Padding in a tensor is read as input, and affects
          the backward part.
        - The two biases are redundant: they are added.
        - Source: Elman, Finding Structure in Time, 1990.

    Raises:
        ValueError: If a size isn't positive, `dropout` isn't a probability, `nonlinearity` has another name, or the
            input has another type or number of dimensions.
        RuntimeError: If the sizes of input and state don't fit, or the sequence is empty.

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
    r"""Layers of gated recurrent units over sequences.

    Formula:
        .. math::

            r_t = \sigma(W_{ir} x_t + b_{ir} + W_{hr} h_{t - 1} + b_{hr}) \\
            z_t = \sigma(W_{iz} x_t + b_{iz} + W_{hz} h_{t - 1} + b_{hz}) \\
            n_t = \tanh(W_{in} x_t + b_{in} + r_t \otimes (W_{hn} h_{t - 1} + b_{hn})) \\
            h_t = (1 - z_t) \otimes n_t + z_t \otimes h_{t - 1}

        `x_t` is the input at step `t`, for a further layer the output of the layer before, and `h_t` the state,
        which is the output. `r`, `z` and `n` are the reset, the update and the new gate, `σ` is the logistic
        sigmoid and `⊗` the product of elements.

    Args:
        input_size (int): The size of a step's input.
        hidden_size (int): The size of the state, H.
        num_layers (int): The number of layers. Each further layer reads the output of the one before. The default
            is 1.
        bias (bool): Whether the layers have biases. The default is True.
        batch_first (bool): Whether the batch is the first dimension of input and output. The states aren't
            affected. The default is False.
        dropout (float): The probability of dropout after each layer but the last, in training. The default is 0.
        bidirectional (bool): Whether each layer also has a part that reads the sequence backward. The default is
            False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(T, B, input_size)`, `(B, T, input_size)` with `batch_first`, `(T, input_size)`, or a
          `PackedSequence`.
        - First state, optional: `(num_layers * D, B, H_out)` or `(num_layers * D, H_out)`.
        - Output: `(T, B, D * H_out)`, `(B, T, D * H_out)`, `(T, D * H_out)`, or a `PackedSequence`.
        - Last state: as the first.
        - D is 2 if `bidirectional`, else 1. H_out is `hidden_size`.

    Attributes:
        weight_ih_l[k] (Parameter, shape (3 * hidden_size, I)): The weights of the input of layer `k`, with I =
            `input_size` for layer 0 and `D * H_out` for others. The rows are those of the reset, the update and the
            new gate.
        weight_hh_l[k] (Parameter, shape (3 * hidden_size, hidden_size)): The weights of the state.
        bias_ih_l[k], bias_hh_l[k] (Parameter, shape (3 * hidden_size,)): The biases.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. Names of the backward part end with
          `_reverse`.
        - The first state is zeros by default. The output at a step joins the forward and the backward part, whose
          state there has read the steps from the end.
        - A `PackedSequence` runs each sequence to its own end. Padding in a tensor is read as input, and affects
          the backward part.
        - The two biases of the reset and of the update gate are added. The reset gate scales `b_hn` alone.
        - The reset gate acts after the product with the state, not before it as in the first publication.
        - Source: Cho et al., Learning Phrase Representations Using RNN Encoder-Decoder, 2014.

    Raises:
        ValueError: If a size isn't positive, `dropout` isn't a probability, or the input has another type or number
            of dimensions.
        RuntimeError: If the sizes of input and state don't fit, or the sequence is empty.

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
    r"""Layers of long short-term memory over sequences.

    Formula:
        .. math::

            i_t = \sigma(W_{ii} x_t + b_{ii} + W_{hi} h_{t - 1} + b_{hi}) \\
            f_t = \sigma(W_{if} x_t + b_{if} + W_{hf} h_{t - 1} + b_{hf}) \\
            g_t = \tanh(W_{ig} x_t + b_{ig} + W_{hg} h_{t - 1} + b_{hg}) \\
            o_t = \sigma(W_{io} x_t + b_{io} + W_{ho} h_{t - 1} + b_{ho}) \\
            c_t = f_t \otimes c_{t - 1} + i_t \otimes g_t \\
            h_t = o_t \otimes \tanh(c_t)

        `x_t` is the input at step `t`, for a further layer the output of the layer before, `c_t` the cell and `h_t`
        the state, which is the output. `i`, `f`, `g` and `o` are the input, the forget, the cell and the output
        gate, `σ` is the logistic sigmoid and `⊗` the product of elements. With `proj_size` the state is `W_hr h_t`
        instead.

    Args:
        input_size (int): The size of a step's input.
        hidden_size (int): The size of the state, H.
        num_layers (int): The number of layers. Each further layer reads the output of the one before. The default
            is 1.
        bias (bool): Whether the layers have biases. The default is True.
        batch_first (bool): Whether the batch is the first dimension of input and output. The states aren't
            affected. The default is False.
        dropout (float): The probability of dropout after each layer but the last, in training. The default is 0.
        bidirectional (bool): Whether each layer also has a part that reads the sequence backward. The default is
            False.
        proj_size (int): The size to which the state is projected, less than `hidden_size`. 0 selects no projection.
            The default is 0.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(T, B, input_size)`, `(B, T, input_size)` with `batch_first`, `(T, input_size)`, or a
          `PackedSequence`.
        - First state, optional: a pair of `(num_layers * D, B, H_out)` and `(num_layers * D, B, H)`, or the same
          without B, state and cell.
        - Output: `(T, B, D * H_out)`, `(B, T, D * H_out)`, `(T, D * H_out)`, or a `PackedSequence`.
        - Last state: as the first.
        - D is 2 if `bidirectional`, else 1. H is `hidden_size`, and H_out is `proj_size` if it isn't 0, else H.

    Attributes:
        weight_ih_l[k] (Parameter, shape (4 * hidden_size, I)): The weights of the input of layer `k`, with I =
            `input_size` for layer 0 and `D * H_out` for others. The rows are those of the input, the forget, the
            cell and the output gate.
        weight_hh_l[k] (Parameter, shape (4 * hidden_size, H_out)): The weights of the state.
        bias_ih_l[k], bias_hh_l[k] (Parameter, shape (4 * hidden_size,)): The biases.
        weight_hr_l[k] (Parameter, shape (proj_size, hidden_size)): The projection, if `proj_size` isn't 0.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. Names of the backward part end with
          `_reverse`.
        - The first state is zeros by default. The output at a step joins the forward and the backward part, whose
          state there has read the steps from the end.
        - A `PackedSequence` runs each sequence to its own end. Padding in a tensor is read as input, and affects
          the backward part.
        - The two biases are redundant: they are added.
        - Source: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997. Gers et al., Learning to Forget, 2000.
          Sak et al., Long Short-Term Memory Based Recurrent Neural Network Architectures, 2014, for the projection.

    Raises:
        ValueError: If a size isn't positive, `dropout` isn't a probability, `proj_size` isn't less than
            `hidden_size`, or the input has another type or number of dimensions.
        RuntimeError: If the sizes of input and state don't fit, or the sequence is empty.

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

"""Cells of recurrent networks: one step of a layer."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def _uniform(module: Module, hidden_size: int) -> None:
    """Draw all parameters from the uniform distribution on `±1 / sqrt(hidden_size)`."""
    bound = 1.0 / sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _each(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return tuple(change(part) for part in state) if isinstance(state, (tuple, list)) else change(state)


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
    bias_ih: Tensor
    bias_hh: Tensor

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
    r"""One step of an Elman unit.

    Formula:
        .. math::

            h' = \tanh\bigl(W_{ih} \, x + b_{ih} + W_{hh} \, h + b_{hh}\bigr)

        `x` is the input, `h` the state and `h'` the next state. `nonlinearity="relu"` replaces tanh.

    Args:
        input_size (int): The size of the input.
        hidden_size (int): The size of the state.
        bias (bool): Whether the cell has biases. The default is True.
        nonlinearity (str): "tanh" or "relu". The default is "tanh".
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(B, input_size)` or `(input_size,)`.
        - State, optional: `(B, hidden_size)` or `(hidden_size,)`.
        - Output: `(B, hidden_size)` or `(hidden_size,)`, the next state.

    Attributes:
        weight_ih (Parameter, shape (hidden_size, input_size)): The weights of the input.
        weight_hh (Parameter, shape (hidden_size, hidden_size)): The weights of the state.
        bias_ih, bias_hh (Parameter, shape (hidden_size,), or None): The biases.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. The state is zeros by default.
        - A loop over cells may change the input or the state between steps. `RNN` runs whole sequences faster.

    Raises:
        ValueError: If the input or the state has another number of dimensions.
        RuntimeError: If the sizes don't fit, or `nonlinearity` has another name.

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
    r"""One step of long short-term memory.

    Formula:
        .. math::

            i = \sigma(W_{ii} x + b_{ii} + W_{hi} h + b_{hi}) \\
            f = \sigma(W_{if} x + b_{if} + W_{hf} h + b_{hf}) \\
            g = \tanh(W_{ig} x + b_{ig} + W_{hg} h + b_{hg}) \\
            o = \sigma(W_{io} x + b_{io} + W_{ho} h + b_{ho}) \\
            c' = f \otimes c + i \otimes g \\
            h' = o \otimes \tanh(c')

        `x` is the input, `h` the state and `c` the cell, `h'` and `c'` are the next ones. `i`, `f`, `g` and `o` are
        the input, the forget, the cell and the output gate: the rows of weights and biases in this order.

    Args:
        input_size (int): The size of the input.
        hidden_size (int): The size of the state.
        bias (bool): Whether the cell has biases. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(B, input_size)` or `(input_size,)`.
        - State and cell, optional: a pair of `(B, hidden_size)` or `(hidden_size,)`.
        - Output: a pair of `(B, hidden_size)` or `(hidden_size,)`, the next state and the next cell.

    Attributes:
        weight_ih (Parameter, shape (4 * hidden_size, input_size)): The weights of the input.
        weight_hh (Parameter, shape (4 * hidden_size, hidden_size)): The weights of the state.
        bias_ih, bias_hh (Parameter, shape (4 * hidden_size,), or None): The biases.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. The state is zeros by default.
        - A loop over cells may change the input or the state between steps. `LSTM` runs whole sequences faster.

    Raises:
        ValueError: If the input or the state has another number of dimensions.
        RuntimeError: If the sizes don't fit.

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
    r"""One step of a gated recurrent unit.

    Formula:
        .. math::

            r = \sigma(W_{ir} x + b_{ir} + W_{hr} h + b_{hr}) \\
            z = \sigma(W_{iz} x + b_{iz} + W_{hz} h + b_{hz}) \\
            n = \tanh(W_{in} x + b_{in} + r \otimes (W_{hn} h + b_{hn})) \\
            h' = (1 - z) \otimes n + z \otimes h

        `x` is the input, `h` the state and `h'` the next state. `r`, `z` and `n` are the reset, the update and the
        new gate: the rows of weights and biases in this order.

    Args:
        input_size (int): The size of the input.
        hidden_size (int): The size of the state.
        bias (bool): Whether the cell has biases. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(B, input_size)` or `(input_size,)`.
        - State, optional: `(B, hidden_size)` or `(hidden_size,)`.
        - Output: `(B, hidden_size)` or `(hidden_size,)`, the next state.

    Attributes:
        weight_ih (Parameter, shape (3 * hidden_size, input_size)): The weights of the input.
        weight_hh (Parameter, shape (3 * hidden_size, hidden_size)): The weights of the state.
        bias_ih, bias_hh (Parameter, shape (3 * hidden_size,), or None): The biases.

    Notes:
        - All parameters are uniform on `±1 / sqrt(hidden_size)` at first. The state is zeros by default.
        - A loop over cells may change the input or the state between steps. `GRU` runs whole sequences faster.

    Raises:
        ValueError: If the input or the state has another number of dimensions.
        RuntimeError: If the sizes don't fit.

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

"""Layers of recurrent cells that quantize inputs and states at each call: steps, directions, packed sequences.

The kernel of all steps runs while the batch has one size. A packed sequence is a chain of such runs: sequences that end
leave the batch, and in the other direction they enter it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

from .cell import CellMatrices, CellWeights

__all__ = ["GATES", "Layers", "gru_step", "lstm_step"]

States = tuple[Tensor, ...]
Cell = CellWeights | CellMatrices


def lstm_step(inputs: Tensor, hidden: Tensor, state: States) -> tuple[Tensor, Tensor]:
    """The next state and cell of an LSTM, from the gates of the input and of the state.

    Args:
        inputs: the four gates of the input, of shape (..., 4 * hidden_size).
        hidden: the four gates of the state.
        state: the state and the cell.
    """
    input_gate, forget_gate, cell_gate, output_gate = (inputs + hidden).chunk(4, -1)
    c = forget_gate.sigmoid() * state[1] + input_gate.sigmoid() * cell_gate.tanh()
    return output_gate.sigmoid() * c.tanh(), c


def gru_step(inputs: Tensor, hidden: Tensor, state: States) -> States:
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


GATES = {"LSTM": 4, "GRU": 3}
_STEPS: dict[str, Any] = {"LSTM": lstm_step, "GRU": gru_step}


class Layers:
    """The layers of a network, each of one direction or two.

    Args:
        mode: "LSTM" or "GRU".
        cells: the weights, layer by layer, and direction by direction.
        is_bidirectional: whether each layer has two directions.
        dropout: the probability that a number between two layers becomes 0.

    Raises:
        RuntimeError: the weights are of another class.

    Example:
        >>> from tl_quantization.packed.half import HalfLinear
        >>> weight = HalfLinear(tl_core.zeros(4, 1, dtype=tl_core.float16), None)
        >>> layers = Layers("LSTM", [CellWeights(weight, weight)], False)
        >>> output, states = layers.run(tl_core.ones(5, 2, 1), (tl_core.zeros(1, 2, 1),) * 2)
        >>> output.shape, len(states)
        (torch.Size([5, 2, 1]), 2)
    """

    def __init__(
        self, mode: str, cells: Sequence[Cell], is_bidirectional: bool, dropout: float = 0.0
    ) -> None:
        cells = list(cells)
        absent = [type(cell).__name__ for cell in cells if not isinstance(cell, CellWeights | CellMatrices)]
        if absent:
            raise RuntimeError(f"the weights of a quantized {mode} must be packed cells, but got {absent[0]}")
        self.mode, self.cells, self.dropout = mode, cells, dropout
        self.directions = 2 if is_bidirectional else 1

    def run(
        self, x: Tensor, start: States, batch_sizes: list[int] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer, and the last states of each layer and direction.

        Args:
            x: of shape (length, batch, input_size), or (rows, input_size) with batch sizes.
            start: the first states, of shape (layers * directions, batch, hidden_size).
            batch_sizes: the sequences that have a step, for each step of a packed sequence.
        """
        last: list[States] = []
        for number in range(0, len(self.cells), self.directions):
            sides = []
            for side in range(self.directions):
                states = tuple(s[number + side] for s in start)
                output, end = self._direction(x, self.cells[number + side], states, bool(side), batch_sizes)
                sides.append(output)
                last.append(end)
            x = sides[0] if len(sides) == 1 else tl_core.cat(sides, -1)
            if self.dropout and number + self.directions < len(self.cells):
                x = F.dropout(x, self.dropout)
        return x, [tl_core.stack(parts) for parts in zip(*last, strict=True)]

    def _direction(
        self, x: Tensor, cell: Cell, state: States, is_reverse: bool, sizes: list[int] | None
    ) -> tuple[Tensor, States]:
        gates = cell.of_input(x)
        if sizes is None:
            return self._steps(gates, cell, state, is_reverse)
        return (self._shrinking, self._growing)[is_reverse](gates, cell, state, sizes)

    def _shrinking(self, gates: Tensor, cell: Cell, state: States, sizes: list[int]) -> tuple[Tensor, States]:
        """The steps of a packed sequence: those that end leave the batch with their states."""
        outputs, ends = [], []
        for size, part in _runs(gates, sizes):
            ends.append(tuple(s[size:] for s in state))
            output, state = self._steps(part, cell, tuple(s[:size] for s in state), False)
            outputs.append(output.flatten(0, 1))
        ends.append(state)
        return tl_core.cat(outputs), tuple(tl_core.cat(parts[::-1]) for parts in zip(*ends, strict=True))

    def _growing(self, gates: Tensor, cell: Cell, start: States, sizes: list[int]) -> tuple[Tensor, States]:
        """The steps of a packed sequence from its end: sequences enter the batch at their last step."""
        outputs, state = [], tuple(s[:0] for s in start)
        for size, part in reversed(_runs(gates, sizes)):
            state = tuple(
                tl_core.cat([s, first[len(s) : size]]) for s, first in zip(state, start, strict=True)
            )
            output, state = self._steps(part, cell, state, True)
            outputs.append(output.flatten(0, 1))
        return tl_core.cat(outputs[::-1]), state

    def _steps(self, gates: Tensor, cell: Cell, state: States, is_reverse: bool) -> tuple[Tensor, States]:
        """All steps of a batch of one size, from the gates of the inputs of shape (length, batch, gates)."""
        if isinstance(cell, CellWeights) and cell.is_of_integers and cell.reduce_range:
            return self._integer_steps(gates, cell, state, is_reverse)
        outputs = []
        for step in reversed(range(len(gates))) if is_reverse else range(len(gates)):
            state = _STEPS[self.mode](gates[step], cell.of_state(state[0]), state)
            outputs.append(state[0])
        return tl_core.stack(outputs[::-1] if is_reverse else outputs), state

    def _integer_steps(
        self, gates: Tensor, cell: CellWeights, state: States, is_reverse: bool
    ) -> tuple[Tensor, States]:
        """All steps with weights of integers, by a kernel that rounds the state to bytes at each step."""
        from tl_core.operators import packets  # operators without a function load when a model runs

        weight, memory = cell.hh, state[1] if self.mode == "LSTM" else None
        output, *last = packets.aten._int8_recurrent_layer(
            gates, state[0], memory, weight.packed, weight.sums, weight.scales, weight.zero_points, weight.bias,
            int(memory is None), is_reverse,
        )  # fmt: skip
        return output, tuple(last[: len(state)])


def _runs(gates: Tensor, sizes: list[int]) -> list[tuple[int, Tensor]]:
    """The parts of packed gates whose steps have a batch of one size: the size, and (steps, size, gates)."""
    parts, begin = [], 0
    for size, steps in groupby(sizes):
        rows = size * len(list(steps))
        parts.append((size, gates[begin : begin + rows].unflatten(0, (-1, size))))
        begin += rows
    return parts

"""The weights of a recurrent cell, as recurrent operators take them and as files name them."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject

from .half import HalfLinear
from .linear import PackedLinear

__all__ = ["CellMatrices", "CellWeights"]


class CellWeights(ScriptObject):
    """The weights of a cell for its input and for its state, each with its bias.

    Args:
        ih (PackedLinear or HalfLinear): For the input.
        hh (PackedLinear or HalfLinear): For the state.
        reduce_range (bool): Whether inputs and states leave one bit of their bytes unused.

    Raises:
        RuntimeError: If the weights are of different kinds, or their rows differ.

    Example:
        >>> import tl_core
        >>> one = HalfLinear(tl_core.ones(4, 2, dtype=tl_core.float16), None)
        >>> two = HalfLinear(tl_core.ones(4, 1, dtype=tl_core.float16), None)
        >>> CellWeights(one, two).of_input(tl_core.ones(1, 2))
        tensor([[2., 2., 2., 2.]])
    """

    _qualified_name = "__torch__.torch.classes.rnn.CellParamsBase"

    def __init__(self, ih: Any, hh: Any, reduce_range: bool = True) -> None:
        kinds = {type(ih), type(hh)}
        if len(kinds) != 1 or not kinds <= {PackedLinear, HalfLinear}:
            names = " and ".join(type(weight).__name__ for weight in (ih, hh))
            raise RuntimeError(
                f"the weights of a cell must be two packed weights of one kind, but got {names}"
            )
        rows = [weight.weight().shape[0] for weight in (ih, hh)]
        if rows[0] != rows[1]:
            raise RuntimeError(
                f"the weights of a cell must have equally many rows, but got {rows[0]} and {rows[1]}"
            )
        self.ih, self.hh, self.reduce_range = ih, hh, reduce_range

    @property
    def is_of_integers(self) -> bool:
        """Whether the weights are of integers. Otherwise they are of float16."""
        return isinstance(self.ih, PackedLinear)

    @property
    def hidden_bias(self) -> Tensor | None:
        """The bias of the state."""
        bias: Tensor | None = self.hh.bias
        return bias

    def of_input(self, x: Tensor) -> Tensor:
        """The gates of inputs.

        Args:
            x: of float32, with the input's numbers as the last axis.
        """
        gates: Tensor = self.ih.of_floats(x, self.reduce_range)
        return gates

    def of_state(self, h: Tensor) -> Tensor:
        """The gates of states.

        Args:
            h: of float32, with the state's numbers as the last axis.
        """
        gates: Tensor = self.hh.of_floats(h, self.reduce_range)
        return gates

    def _state(self) -> tuple[Any, ...]:
        """The kind, the biases, the settings and the weights. Files have zeros for a bias that isn't there."""
        weights = [_with_bias(self.ih), _with_bias(self.hh)]
        if not self.is_of_integers:
            return "quantized_fp16", [], [], [], weights
        biases = [weight.bias for weight in weights]
        return "quantized_dynamic", biases, [], [int(self.reduce_range)], weights


class CellMatrices(ScriptObject):
    """The weights of a cell as bytes, one scale and one offset each, for inputs that stay floating numbers.

    Args:
        weights (two Tensors): For the input and for the state, of int8.
        biases (two Tensors): Of float32.
        offsets (two Tensors): The sums of the columns of the packed weights, of int32.
        scales (two floats): Of the weights.
        zero_points (two ints): Of the weights.

    Example:
        >>> import tl_core
        >>> one, two = tl_core.ones(4, 2), tl_core.ones(4, 1)
        >>> cell = CellMatrices.of_floats(one, two, tl_core.zeros(4), tl_core.zeros(4))
        >>> cell.of_input(tl_core.ones(1, 2)).round()
        tensor([[2., 2., 2., 2.]])
    """

    _qualified_name = CellWeights._qualified_name
    is_of_integers = False  # the layer runs step by step

    def __init__(self, weights: Any, biases: Any, offsets: Any, scales: Any, zero_points: Any) -> None:
        self.weights, self.biases, self.offsets = tuple(weights), tuple(biases), tuple(offsets)
        self.scales, self.zero_points = tuple(scales), tuple(zero_points)

    @classmethod
    def of_floats(cls, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> CellMatrices:
        """The weights of floating numbers, rounded to bytes.

        Args:
            w_ih, w_hh: the weights for the input and for the state.
            b_ih, b_hh: their biases.
        """
        parts = [_operator("quantize_weight")(weight) for weight in (w_ih, w_hh)]
        return cls(
            *zip(*((w, b, *rest) for (w, *rest), b in zip(parts, (b_ih, b_hh), strict=True)), strict=True)
        )

    def _of(self, side: int, x: Tensor) -> Tensor:
        weight = self.weights[side]
        gates: Tensor = _operator("int8_weight_fp32_activation")(
            x,
            weight,
            weight,
            self.offsets[side],
            self.scales[side],
            self.zero_points[side],
            self.biases[side],
        )
        return gates

    def of_input(self, x: Tensor) -> Tensor:
        """The gates of inputs.

        Args:
            x: of float32, with the input's numbers as the last axis.
        """
        return self._of(0, x)

    def of_state(self, h: Tensor) -> Tensor:
        """The gates of states.

        Args:
            h: of float32, with the state's numbers as the last axis.
        """
        return self._of(1, h)

    def _state(self) -> tuple[Any, ...]:
        tensors = [*self.weights, *self.biases, *self.offsets]
        return "quantized", tensors, list(self.scales), list(self.zero_points), []


def _operator(name: str) -> Any:
    from tl_core.operators import packets  # operators without a function load when a model runs

    return getattr(packets.aten, f"fbgemm_linear_{name}")


def _with_bias(weight: Any) -> Any:
    if weight.bias is not None:
        return weight
    matrix = weight.weight()
    return type(weight)(matrix, tl_core.zeros(matrix.shape[0]))

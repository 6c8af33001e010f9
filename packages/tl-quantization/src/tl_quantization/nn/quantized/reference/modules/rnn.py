"""Recurrent layers and cells that keep float weights."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor

from .utils import default_weight_qparams, quantize_weight, rounded_weight, set_weight_qparams

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


def _is_weight(name: str) -> bool:
    return name.startswith("weight")


class _Rounded:
    """The parameters of several weights, before the float class in the order of bases."""

    _IS_REFERENCE = True
    is_decomposed: bool

    def _init_weight_qparams_dict(self, table: dict[str, Any] | None, names: Any, device: Any) -> None:
        table = {name: default_weight_qparams() for name in names} if table is None else table
        self.is_decomposed = table.get("is_decomposed", False)
        for name in names:
            if name not in table:
                raise AssertionError(
                    f"weight_qparams_dict must have an entry {name!r}, but got {list(table)}"
                )
            set_weight_qparams(self, name, table[name], device)

    def _round_weight(self, name: str) -> Tensor:
        return rounded_weight(self, name, getattr(self, name))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"


class _Cell(_Rounded):
    """A cell with the rounded weights."""

    def _start(self, table: dict[str, Any] | None, device: Any) -> None:
        self._init_weight_qparams_dict(table, ("weight_ih", "weight_hh"), device)

    def get_weight(self, wn: str = "weight_ih") -> Tensor:
        """A weight, quantized and dequantized.

        Args:
            wn: the weight's name.
        """
        return self._round_weight(wn)

    def get_quantized_weight_ih(self) -> Any:
        """The weight of the input as integers."""
        return quantize_weight(self, "weight_ih", self.weight_ih)  # type: ignore[attr-defined]  # of the cell

    def get_quantized_weight_hh(self) -> Any:
        """The weight of the state as integers."""
        return quantize_weight(self, "weight_hh", self.weight_hh)  # type: ignore[attr-defined]  # of the cell

    def get_weight_ih(self) -> Tensor:
        """The weight of the input, quantized and dequantized."""
        return self._round_weight("weight_ih")

    def get_weight_hh(self) -> Tensor:
        """The weight of the state, quantized and dequantized."""
        return self._round_weight("weight_hh")

    def _step(self, operator: str, input: Tensor, hx: Any) -> Any:
        own: Any = self
        float_weights = own._parameters["weight_ih"], own._parameters["weight_hh"]
        cell = own._twin()
        for name, weight in zip(("weight_ih", "weight_hh"), float_weights, strict=True):
            cell._parameters[name] = nn.Parameter(rounded_weight(self, name, weight), requires_grad=False)
        return cell._step(operator, input, hx)

    def _twin(self) -> Any:
        """A float cell with the biases of this one."""
        own: Any = self
        settings = {"nonlinearity": own.nonlinearity} if hasattr(own, "nonlinearity") else {}
        cell = type(self)._FLOAT(own.input_size, own.hidden_size, own.bias, **settings, device="meta")
        for name in ("bias_ih", "bias_hh"):
            cell._parameters[name] = own._parameters[name]
        return cell

    _FLOAT: Any

    @classmethod
    def from_float(
        cls, mod: Any, weight_qparams_dict: dict[str, Any], use_precomputed_fake_quant: bool = False
    ) -> Any:
        """The cell for a float one, with its parameters.

        Args:
            mod: the float cell.
            weight_qparams_dict: how each weight is quantized, by its name.
            use_precomputed_fake_quant: of no effect.
        """
        settings = {"nonlinearity": mod.nonlinearity} if hasattr(mod, "nonlinearity") else {}
        make: Any = cls
        cell = make(
            mod.input_size, mod.hidden_size, mod.bias, **settings, weight_qparams_dict=weight_qparams_dict
        )
        return _with_parameters(cell, mod)


def _with_parameters(layer: Any, float_layer: Any) -> Any:
    for name, value in float_layer.named_parameters():
        layer._parameters[name] = nn.Parameter(value.detach())
    return layer


class RNNCell(_Cell, nn.RNNCell):
    """`tl_nn.RNNCell` with rounded weights.

    Args:
        input_size: the number of inputs.
        hidden_size: the size of the state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams_dict: how `weight_ih` and `weight_hh` are quantized.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.RNNCell(3, 4)(tl_core.ones(1, 3)).shape
        torch.Size([1, 4])
    """

    _FLOAT = nn.RNNCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        nn.RNNCell.__init__(self, input_size, hidden_size, bias, nonlinearity, device, dtype)
        self._start(weight_qparams_dict, device)


class LSTMCell(_Cell, nn.LSTMCell):
    """`tl_nn.LSTMCell` with rounded weights.

    Args:
        input_size: the number of inputs.
        hidden_size: the size of the state.
        bias: whether there are biases.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams_dict: how `weight_ih` and `weight_hh` are quantized.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.LSTMCell(3, 4)(tl_core.ones(1, 3))[0].shape
        torch.Size([1, 4])
    """

    _FLOAT = nn.LSTMCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        nn.LSTMCell.__init__(self, input_size, hidden_size, bias, device, dtype)
        self._start(weight_qparams_dict, device)


class GRUCell(_Cell, nn.GRUCell):
    """`tl_nn.GRUCell` with rounded weights.

    Args:
        input_size: the number of inputs.
        hidden_size: the size of the state.
        bias: whether there are biases.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams_dict: how `weight_ih` and `weight_hh` are quantized.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.GRUCell(3, 4)(tl_core.ones(1, 3)).shape
        torch.Size([1, 4])
    """

    _FLOAT = nn.GRUCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        nn.GRUCell.__init__(self, input_size, hidden_size, bias, device, dtype)
        self._start(weight_qparams_dict, device)


class _Layer(_Rounded):
    """A recurrent layer with the rounded weights."""

    def _start(self, table: dict[str, Any] | None) -> None:
        own: Any = self
        names = [name for name in own._flat_weights_names if _is_weight(name)]
        self._init_weight_qparams_dict(table, names, own._parameters[names[0]].device)

    @property
    def _flat_weights(self) -> list[Any]:
        return self.get_flat_weights() if hasattr(self, "is_decomposed") else super()._flat_weights  # type: ignore[misc]  # the layer's

    def get_flat_weights(self) -> list[Any]:
        """All parameters in the order in which operators take them, the weights quantized and dequantized."""
        own: Any = self
        return [
            self._round_weight(name) if _is_weight(name) else own._parameters[name]
            for name in own._flat_weights_names
        ]

    def get_quantized_weight_bias_dict(self) -> dict[str, Any]:
        """The weights as integers and the biases, by name."""
        own: Any = self
        return {
            name: quantize_weight(self, name, own._parameters[name])
            if _is_weight(name)
            else own._parameters[name]
            for name in own._flat_weights_names
        }

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: dict[str, Any]) -> Any:
        """The layer for a float one, with its parameters.

        Args:
            mod: the float layer.
            weight_qparams_dict: how each weight is quantized, by its name.
        """
        make: Any = cls
        layer = make(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional, weight_qparams_dict=weight_qparams_dict,
        )  # fmt: skip
        return _with_parameters(layer, mod)


class LSTM(_Layer, nn.LSTM):
    """`tl_nn.LSTM` with rounded weights.

    Args:
        *args: the arguments of the float layer.
        **kwargs: those by keyword, and `weight_qparams_dict`: how each weight is quantized, by its name.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.LSTM(3, 4)(tl_core.ones(2, 1, 3))[0].shape
        torch.Size([2, 1, 4])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        table = kwargs.pop("weight_qparams_dict", None)
        nn.LSTM.__init__(self, *args, **kwargs)
        self._start(table)


class GRU(_Layer, nn.GRU):
    """`tl_nn.GRU` with rounded weights.

    Args:
        *args: the arguments of the float layer.
        **kwargs: those by keyword, and `weight_qparams_dict`: how each weight is quantized, by its name.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.GRU(3, 4)(tl_core.ones(2, 1, 3))[0].shape
        torch.Size([2, 1, 4])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        table = kwargs.pop("weight_qparams_dict", None)
        nn.GRU.__init__(self, *args, **kwargs)
        self._start(table)

"""Linear layers whose weights are integers of 8 or 4 bits and whose numbers stay floating: for decoding, which is bound
by the memory of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import Module
from tl_nn import functional as F

__all__ = ["WeightOnlyLinear", "quantize_weights"]

_GROUPS = (32, 64, 128, 256)  # that the kernels have
_ROWS = 16  # rows of a panel of 4-bit weights


class WeightOnlyLinear(Module):
    """`x @ weight.T + bias` with a weight of integers, each of which becomes a number when it is read.

    A weight of 8 bits has a scale for each row, a weight of 4 bits a scale and a zero for each row and group of
    columns. The state contains plain tensors. The layer doesn't train: no gradient passes through it.

    Args:
        in_features, out_features (int): The sizes.
        bias (bool): Whether there is a bias.
        bits (int): 8 or 4.
        group (int): The columns of a group, for 4 bits: 32, 64, 128 or 256.

    Raises:
        ValueError: If there is no such number of bits, or no group of this size divides the columns.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> layer = tq.WeightOnlyLinear.from_float(tl_nn.Linear(64, 3), bits=4, group=32)
        >>> layer(tl_core.ones(2, 64)).shape, layer.weight.shape
        (torch.Size([2, 3]), torch.Size([16, 32]))
    """

    weight: Tensor
    scales: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, bits: int = 8, group: int = 64
    ) -> None:
        super().__init__()
        _check(in_features, bits, group)
        self.in_features, self.out_features, self.bits, self.group = in_features, out_features, bits, group
        rows = out_features if bits == 8 else -(-out_features // _ROWS) * _ROWS
        kind, columns = (tl_core.int8, in_features) if bits == 8 else (tl_core.uint8, in_features // 2)
        shape = (rows,) if bits == 8 else (in_features // group, rows, 2)
        self.register_buffer("weight", tl_core.zeros(rows, columns, dtype=kind))
        self.register_buffer("scales", tl_core.zeros(shape))
        self.register_buffer("bias", tl_core.zeros(out_features) if bias else None)

    def extra_repr(self) -> str:
        group = f", group={self.group}" if self.bits == 4 else ""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}, bits={self.bits}{group}"

    def forward(self, x: Tensor) -> Tensor:
        """The layer's result, of the type of `x`: float32, bfloat16 or float16."""
        rows, scales = x.reshape(-1, self.in_features), self.scales.to(x.dtype)
        if self.bits == 8:
            y = tl_core._weight_int8pack_mm(rows, self.weight, scales)
        else:
            y = tl_core._weight_int4pack_mm_for_cpu(rows, self.weight, self.group, scales)
            y = y[:, : self.out_features]
        y = y if self.bias is None else y + self.bias.to(x.dtype)
        return y.reshape(*x.shape[:-1], self.out_features)

    @classmethod
    def from_float(cls, mod: Any, bits: int = 8, group: int = 64) -> WeightOnlyLinear:
        """The layer for a float `Linear`.

        Args:
            mod (Linear): The float layer.
            bits, group (int): As of the class.
        """
        layer = cls(mod.in_features, mod.out_features, mod.bias is not None, bits, group)
        weight = mod.weight.detach().to(tl_core.float32)
        integers, scales = _eight_bits(weight) if bits == 8 else _four_bits(weight, group)
        layer.weight, layer.scales = integers, scales.to(mod.weight.dtype)
        if mod.bias is not None:
            layer.bias = mod.bias.detach().clone()
        return layer.train(mod.training)


def _check(in_features: int, bits: int, group: int) -> None:
    if bits not in (4, 8):
        raise ValueError(f"bits must be 4 or 8, but got {bits}")
    if bits == 4 and (group not in _GROUPS or in_features % group):
        raise ValueError(
            f"group must be one of {_GROUPS} and divide in_features, {in_features}, but got {group}"
        )


def _eight_bits(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as integers from -127 to 127, and their scales. A row of zeros has the scale 1."""
    scales = weight.abs().amax(1) / 127
    scales = tl_core.where(scales > 0, scales, tl_core.ones_like(scales))
    return (weight / scales[:, None]).round_().clamp_(-127, 127).to(tl_core.int8), scales


def _four_bits(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Groups as packed integers from 0 to 15, with a scale and the number of the integer 8: [group, row, 2]."""
    rows, columns = weight.shape
    padded = F.pad(weight, (0, 0, 0, -rows % _ROWS))
    groups = padded.reshape(padded.shape[0], columns // group, group)
    low, high = groups.amin(2), groups.amax(2)
    scales = (high - low) / 15
    scales = tl_core.where(scales > 0, scales, tl_core.ones_like(scales))
    integers = ((groups - low[:, :, None]) / scales[:, :, None]).round_().clamp_(0, 15)
    matrix = integers.to(tl_core.int32).reshape(padded.shape)
    packed = tl_core._convert_weight_to_int4pack_for_cpu(matrix, 1)
    return packed, tl_core.stack([scales, low + 8 * scales], 2).transpose(0, 1).contiguous()


def quantize_weights(
    model: Module, bits: int = 8, group: int = 64, filter: Callable[[Module, str], bool] | None = None
) -> Module:
    """Replaces the linear layers of a model by layers whose weights have 8 or 4 bits, in place.

    Args:
        model (Module): With layers of the class `Linear`.
        bits (int): 8 or 4.
        group (int): The columns that share a scale, for 4 bits: 32, 64, 128 or 256.
        filter (callable, optional): Whether to replace a layer, by the layer and its name. By default all.

    Returns:
        The model, or the new layer if the model is a layer itself.

    Raises:
        ValueError: If a layer's columns are no whole groups. The message names the layer, which `filter` can leave out.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(64, 8), tl_nn.ReLU(), tl_nn.Linear(8, 2))
        >>> model = tq.quantize_weights(model, bits=4, group=32, filter=lambda layer, name: name != "2")
        >>> type(model[0]).__name__, type(model[2]).__name__
        ('WeightOnlyLinear', 'Linear')
    """
    replaced: dict[int, WeightOnlyLinear] = {}  # a layer that several modules share stays shared
    for name, layer in model.named_modules(remove_duplicate=False):
        if type(layer) is not nn.Linear or (filter is not None and not filter(layer, name)):
            continue
        if id(layer) not in replaced:
            try:
                replaced[id(layer)] = WeightOnlyLinear.from_float(layer, bits, group)
            except ValueError as error:
                raise ValueError(f"layer {name!r}: {error}") from None
    if id(model) in replaced:
        return replaced[id(model)]
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if id(child) in replaced:
                parent._modules[name] = replaced[id(child)]
    return model

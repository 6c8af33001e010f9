"""The removal of rows from a layer, and of the columns that read them from the next one, a function a chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn.utils import parametrize

from .parametrization import BiasHook, FakeStructuredSparsity

__all__ = [
    "prune_conv2d",
    "prune_conv2d_activation_conv2d",
    "prune_conv2d_activation_pool_conv2d",
    "prune_conv2d_conv2d",
    "prune_conv2d_padded",
    "prune_conv2d_pool_activation_conv2d",
    "prune_conv2d_pool_flatten_linear",
    "prune_linear",
    "prune_linear_activation_linear",
    "prune_linear_linear",
    "prune_lstm_output_layernorm_linear",
    "prune_lstm_output_linear",
]


def _mask_of(module: Any, tensor_name: str = "weight") -> Tensor:
    """The mask of the rows of a parametrized tensor."""
    for part in module.parametrizations[tensor_name]:
        if isinstance(part, FakeStructuredSparsity):
            return part.mask
    raise ValueError(f"{tensor_name} of {type(module).__name__} must have a mask of rows")


def _stored_weight(module: Any, tensor_name: str = "weight") -> Tensor:
    """A weight before its masks."""
    weight: Tensor
    if parametrize.is_parametrized(module, tensor_name):
        weight = module.parametrizations[tensor_name].original
    else:
        weight = getattr(module, tensor_name)
    return weight


def _keep_columns(module: Any, mask: Tensor, tensor_name: str = "weight") -> int:
    """Removes columns from a weight, whether it has masks of its own or not, and returns the number of the others."""
    with tl_core.no_grad():
        weight = nn.Parameter(_stored_weight(module, tensor_name)[:, mask])
        if parametrize.is_parametrized(module, tensor_name):
            module.parametrizations[tensor_name].original = weight
        else:
            setattr(module, tensor_name, weight)
    return weight.shape[1]


def _keep_inputs(module: Any, mask: Tensor) -> None:
    """Removes the columns of a linear layer or convolution and changes its number of inputs."""
    if isinstance(module, nn.Conv2d):
        _refuse_groups(module)
        module.in_channels = _keep_columns(module, mask)
    else:
        module.in_features = _keep_columns(module, mask)


def _keep_rows(module: Any) -> Tensor:
    """Removes the masked rows of a linear layer or convolution and returns the mask. The bias stays."""
    if isinstance(module, nn.Conv2d):
        _refuse_groups(module)
    mask = _mask_of(module)
    with tl_core.no_grad():
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
        module.weight = nn.Parameter(module.weight[mask])
    if isinstance(module, nn.Conv2d):
        module.out_channels = module.weight.shape[0]
    else:
        module.out_features = module.weight.shape[0]
    _remove_bias_handles(module)
    return mask


def _refuse_groups(module: nn.Conv2d) -> None:
    if module.groups != 1:
        raise ValueError(
            f"Channels can be removed from convolutions with groups=1, but got groups={module.groups}"
        )


def _remove_bias_handles(module: Any) -> None:
    for key in [key for key, hook in module._forward_hooks.items() if isinstance(hook, BiasHook)]:
        del module._forward_hooks[key]


def _prune_module_bias(module: Any, mask: Tensor) -> None:
    """Keeps the bias of the rows that stay."""
    bias = module.bias if module.bias is not None else getattr(module, "_bias", None)
    if bias is not None:
        module.bias = nn.Parameter(bias.detach()[mask])
    if hasattr(module, "_bias"):
        del module._bias


def _propagate_module_bias(module: Any, mask: Tensor) -> Tensor | None:
    """Keeps the bias of the rows that stay, and returns the others, which are what the masked rows compute."""
    own = getattr(module, "_bias", None)
    removed = None if own is None else own.detach()[~mask]
    _prune_module_bias(module, mask)
    return removed


def _get_adjusted_next_layer_bias(next_layer: Any, pruned_biases: Tensor, mask: Tensor) -> nn.Parameter:
    """The bias of a layer plus what it computes from constant inputs."""
    weight = _stored_weight(next_layer).detach()[:, ~mask]
    if not isinstance(next_layer, (nn.Linear, nn.Conv2d)):
        raise NotImplementedError(f"Type {type(next_layer)} not supported yet.")
    total = weight.flatten(2).sum(2) if isinstance(next_layer, nn.Conv2d) else weight
    constant = total @ pruned_biases
    bias = next_layer.bias if next_layer.bias is not None else getattr(next_layer, "_bias", None)
    return nn.Parameter(constant if bias is None else constant + bias.detach())


def _hand_on(
    module: Any, activation: Callable[[Tensor], Tensor] | None, next_layer: Any, mask: Tensor
) -> None:
    """Removes the bias of removed rows, or moves its effect into the next layer."""
    if getattr(module, "prune_bias", False):
        _prune_module_bias(module, mask)
        return
    removed = _propagate_module_bias(module, mask)
    if removed is not None:
        with tl_core.no_grad():
            constant = removed if activation is None else activation(removed)
        next_layer.bias = _get_adjusted_next_layer_bias(next_layer, constant, mask)


def prune_linear(linear: nn.Linear) -> None:
    """Removes the rows of the last layer of a model.

    Args:
        linear: the layer.
    """
    mask = _keep_rows(linear)
    if getattr(linear, "prune_bias", False):
        _prune_module_bias(linear, mask)


def prune_linear_linear(linear1: nn.Linear, linear2: nn.Linear) -> None:
    """Removes the rows of a layer and the columns of the next.

    Args:
        linear1: the layer.
        linear2: the next.
    """
    prune_linear_activation_linear(linear1, None, linear2)


def prune_linear_activation_linear(
    linear1: nn.Linear, activation: Callable[[Tensor], Tensor] | None, linear2: nn.Linear
) -> None:
    """Removes the rows of a layer and the columns of the next.

    Args:
        linear1: the layer.
        activation: the function between them.
        linear2: the next.
    """
    mask = _keep_rows(linear1)
    _hand_on(linear1, activation, linear2, mask)
    _keep_inputs(linear2, mask)


def prune_conv2d_padded(conv2d_1: Any) -> None:
    """Writes the zeros of a mask into the weight and keeps the bias of all channels.

    Zeros around the input of the next convolution differ from the constant that a removed channel would be, so the
    channels stay.

    Args:
        conv2d_1: the convolution.
    """
    mask, own = _mask_of(conv2d_1), getattr(conv2d_1, "_bias", None)
    with tl_core.no_grad():
        parametrize.remove_parametrizations(conv2d_1, "weight", leave_parametrized=True)
        if own is not None:
            bias = own if conv2d_1.bias is None else tl_core.where(mask, conv2d_1.bias, own)
            conv2d_1.bias = nn.Parameter(bias.detach().clone())
        elif conv2d_1.bias is not None:
            conv2d_1.bias[~mask] = 0
    _remove_bias_handles(conv2d_1)
    if hasattr(conv2d_1, "_bias"):
        del conv2d_1._bias


def prune_conv2d(conv2d: nn.Conv2d) -> None:
    """Removes the channels of the last layer of a model.

    Args:
        conv2d: the layer.
    """
    mask = _keep_rows(conv2d)
    if getattr(conv2d, "prune_bias", False):
        _prune_module_bias(conv2d, mask)


def prune_conv2d_conv2d(conv2d_1: nn.Conv2d, conv2d_2: nn.Conv2d) -> None:
    """Removes the channels of a convolution and the inputs of the next.

    Args:
        conv2d_1: the convolution.
        conv2d_2: the next.
    """
    prune_conv2d_activation_conv2d(conv2d_1, None, conv2d_2)


def prune_conv2d_activation_conv2d(
    conv2d_1: nn.Conv2d, activation: Callable[[Tensor], Tensor] | None, conv2d_2: nn.Conv2d
) -> None:
    """Removes the channels of a convolution and the inputs of the next.

    A convolution with a bias keeps its channels, as zeros, if the next one pads.

    Args:
        conv2d_1: the convolution.
        activation: the function between them.
        conv2d_2: the next.
    """
    has_bias = conv2d_1.bias is not None or getattr(conv2d_1, "_bias", None) is not None
    if has_bias and any(conv2d_2._reversed_padding_repeated_twice):
        prune_conv2d_padded(conv2d_1)
        return
    mask = _keep_rows(conv2d_1)
    _hand_on(conv2d_1, activation, conv2d_2, mask)
    _keep_inputs(conv2d_2, mask)


def prune_conv2d_pool_activation_conv2d(
    c1: nn.Conv2d, pool: Any, activation: Callable[[Tensor], Tensor] | None, c2: nn.Conv2d
) -> None:
    """Removes the channels of a convolution and the inputs of the next.

    Args:
        c1: the convolution.
        pool: the pool behind it.
        activation: the function behind the pool.
        c2: the next convolution.
    """
    prune_conv2d_activation_conv2d(c1, activation, c2)


def prune_conv2d_activation_pool_conv2d(
    c1: nn.Conv2d, activation: Callable[[Tensor], Tensor] | None, pool: Any, c2: nn.Conv2d
) -> None:
    """Removes the channels of a convolution and the inputs of the next.

    Args:
        c1: the convolution.
        activation: the function behind it.
        pool: the pool behind the function.
        c2: the next convolution.
    """
    prune_conv2d_activation_conv2d(c1, activation, c2)


def prune_conv2d_pool_flatten_linear(conv2d: nn.Conv2d, pool: Any, flatten: Any, linear: nn.Linear) -> None:
    """Removes the channels of a convolution and the columns of a linear layer behind a flattening.

    Args:
        conv2d: the convolution.
        pool: the pool behind it.
        flatten: the flattening: each channel is a run of columns.
        linear: the linear layer.

    Raises:
        AssertionError: If the columns aren't a multiple of the channels.
    """
    columns, channels = _stored_weight(linear).shape[1], len(_mask_of(conv2d))
    if columns % channels:
        raise AssertionError(
            f"The columns of the linear layer must be a multiple of the {channels} channels, but got {columns}"
        )
    mask = _keep_rows(conv2d)
    wide = mask.repeat_interleave(columns // channels)
    if getattr(conv2d, "prune_bias", False):
        _prune_module_bias(conv2d, mask)
    else:
        removed = _propagate_module_bias(conv2d, mask)
        if removed is not None:
            constant = removed.repeat_interleave(columns // channels)
            linear.bias = _get_adjusted_next_layer_bias(linear, constant, wide)
    _keep_inputs(linear, wide)


def prune_lstm_output_linear(lstm: nn.LSTM, getitem: Any, linear: nn.Linear) -> None:
    """Removes hidden units of an LSTM and the columns of the linear layer behind it.

    Args:
        lstm: the LSTM.
        getitem: the selection of its output.
        linear: the linear layer.
    """
    prune_lstm_output_layernorm_linear(lstm, getitem, None, linear)


def prune_lstm_output_layernorm_linear(
    lstm: nn.LSTM, getitem: Any, layernorm: nn.LayerNorm | None, linear: nn.Linear
) -> None:
    """Removes hidden units of an LSTM and the columns of the layers behind it.

    Args:
        lstm: the LSTM.
        getitem: the selection of its output.
        layernorm: the normalization behind it.
        linear: the linear layer.

    Raises:
        ValueError: If the LSTM has two directions or a projection, or if its layers and gates lose unlike numbers of
            rows.
    """
    masks = _lstm_masks(lstm)
    for i, (rows, units) in enumerate(masks):
        _prune_lstm_layer(lstm, i, rows, units)
        if i + 1 < lstm.num_layers:
            _keep_columns(lstm, units.chunk(4)[3], f"weight_ih_l{i + 1}")
    if not masks:
        return
    units = masks[-1][1].chunk(4)[3]
    lstm.hidden_size = int(units.sum())
    _keep_inputs(linear, units)
    if layernorm is not None:
        layernorm.normalized_shape = (lstm.hidden_size,)
        with tl_core.no_grad():
            for name in ("weight", "bias"):
                if getattr(layernorm, name) is not None:
                    setattr(layernorm, name, nn.Parameter(getattr(layernorm, name)[units]))


def _lstm_masks(lstm: nn.LSTM) -> list[tuple[Tensor, Tensor]]:
    """The masks of each layer: of the weights of its input and of its state. Empty without masks."""
    if lstm.bidirectional or lstm.proj_size:
        raise ValueError(
            "Hidden units can be removed from an LSTM of one direction without projection, but got "
            f"bidirectional={lstm.bidirectional}, proj_size={lstm.proj_size}"
        )
    names = [f"weight_{part}_l{i}" for i in range(lstm.num_layers) for part in ("ih", "hh")]
    masks = {name: _mask_of(lstm, name) for name in names if parametrize.is_parametrized(lstm, name)}
    counts = {name: [int(gate.sum()) for gate in mask.chunk(4)] for name, mask in masks.items()}
    if not masks:
        return []
    if len(masks) != len(names) or len({count for row in counts.values() for count in row}) != 1:
        raise ValueError(
            f"{', '.join(names)} must all have masks, with as many rows in each of the four gates, but got {counts}"
        )
    return [(masks[names[i]], masks[names[i + 1]]) for i in range(0, len(names), 2)]


def _prune_lstm_layer(lstm: nn.LSTM, i: int, rows: Tensor, units: Tensor) -> None:
    """Removes the masked rows of a layer of an LSTM. The columns of a gate's state are the units that it has itself."""
    with tl_core.no_grad():
        for part, mask in (("ih", rows), ("hh", units)):
            name = f"weight_{part}_l{i}"
            parametrize.remove_parametrizations(lstm, name, leave_parametrized=True)
            gates = zip(getattr(lstm, name).chunk(4), mask.chunk(4), strict=True)
            weight = tl_core.cat([w[m][:, m] if part == "hh" else w[m] for w, m in gates])
            setattr(lstm, name, nn.Parameter(weight))
            if lstm.bias:
                setattr(lstm, f"bias_{part}_l{i}", nn.Parameter(getattr(lstm, f"bias_{part}_l{i}")[mask]))

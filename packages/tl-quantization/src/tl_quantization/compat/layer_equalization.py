"""Layers that follow each other, scaled so that their weights have like ranges (Nagel et al. 2019, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor

from ..nn import intrinsic as nni

__all__ = ["converged", "cross_layer_equalization", "equalize"]

_LAYERS = (nn.Conv2d, nn.Linear, nn.Conv1d)
_FUSED = (nni.ConvReLU2d, nni.LinearReLU, nni.ConvReLU1d)


def _layer(module: Any) -> Any:
    """The layer with the weight. Raises ValueError for a module of another class."""
    if type(module) not in (*_LAYERS, *_FUSED):
        raise ValueError(
            f"a module must be a Conv1d, Conv2d or Linear, alone or with ReLU, but got {type(module)}"
        )
    return module[0] if type(module) in _FUSED else module


def channel_range(input: Tensor, axis: int = 0) -> Tensor:
    """The largest number of each slice minus the smallest.

    Args:
        input: the weight.
        axis: the axis of the slices.

    Example:
        >>> channel_range(tl_core.tensor([[1.0, 3.0], [0.0, 9.0]]))
        tensor([2., 9.])
    """
    rows = input.movedim(axis, 0).flatten(1)
    return rows.amax(1) - rows.amin(1)


def cross_layer_equalization(module1: Any, module2: Any, output_axis: int = 0, input_axis: int = 1) -> None:
    """Scales the output channels of a layer and the input channels of the next one inversely, in place.

    A function between the layers must be linear in pieces, such as ReLU.

    Args:
        module1: the layer.
        module2: the next layer.
        output_axis: the axis of the first weight's output channels.
        input_axis: the axis of the second weight's input channels.

    Raises:
        ValueError: a module has another class.
        TypeError: the channels differ.

    Example:
        >>> one, two = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        >>> cross_layer_equalization(one, two)
    """
    first, second = _layer(module1), _layer(module2)
    outputs, inputs = first.weight.shape[output_axis], second.weight.shape[input_axis]
    if outputs != inputs:
        raise TypeError(
            f"the first layer has {outputs} output channels, but the second has {inputs} input channels"
        )
    with tl_core.no_grad():
        ranges = channel_range(first.weight, output_axis), channel_range(second.weight, input_axis)
        scales = (ranges[0] / (ranges[1] + 1e-9)).sqrt()
        rows = [1] * first.weight.dim()
        rows[output_axis] = outputs
        columns = [1] * second.weight.dim()
        columns[input_axis] = inputs
        first.weight = nn.Parameter(first.weight / scales.reshape(rows))
        if first.bias is not None:
            first.bias = nn.Parameter(first.bias / scales)
        second.weight = nn.Parameter(second.weight * scales.reshape(columns))


def converged(curr_modules: dict[str, Any], prev_modules: dict[str, Any], threshold: float = 1e-4) -> bool:
    """Whether the weights of modules differ from former ones by less than a threshold in sum.

    Args:
        curr_modules: the modules by name.
        prev_modules: former modules by name, or None for each.
        threshold: the largest sum of the norms of differences.

    Raises:
        ValueError: the names differ.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> converged({"a": layer}, {"a": layer}), converged({"a": layer}, {"a": None})
        (True, False)
    """
    if curr_modules.keys() != prev_modules.keys():
        raise ValueError("The keys to the given mappings must have the same set of names of modules")
    if any(module is None for module in prev_modules.values()):
        return False
    differences = (
        _layer(curr_modules[name]).weight - _layer(prev_modules[name]).weight for name in curr_modules
    )
    return sum(float(difference.detach().norm()) for difference in differences) < threshold


def equalize(
    model: Any, paired_modules_list: Sequence[Sequence[Any]], threshold: float = 1e-4, inplace: bool = True
) -> Any:
    """Equalizes groups of layers until they converge.

    Args:
        model: the model.
        paired_modules_list: groups of modules that follow each other, or of their names.
        threshold: that of `converged`.
        inplace: whether the model itself changes.

    Returns:
        The model.

    Raises:
        ValueError: a group has one module, or a module is not in the model.
        TypeError: an entry is neither a module nor a name.

    Example:
        >>> model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        >>> x = tl_core.rand(2, 4)
        >>> tl_core.allclose(equalize(model, [["0", "2"]], inplace=False)(x), model(x), atol=1e-6)
        True
    """
    names = {id(module): name for name, module in model.named_modules()}
    groups = [[_name(names, entry) for entry in group] for group in paired_modules_list]
    if any(len(group) < 2 for group in groups):
        raise ValueError("Group must have at least two modules")
    model = model if inplace else deepcopy(model)
    modules = dict(model.named_modules())
    current = {name: modules[name] for group in groups for name in group}
    former: dict[str, Any] = dict.fromkeys(current)
    while not converged(current, former, threshold):
        for group in groups:
            for one, two in pairwise(group):
                former[one], former[two] = deepcopy(current[one]), deepcopy(current[two])
                cross_layer_equalization(current[one], current[two])
    return model


def _name(names: dict[int, str], entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, nn.Module):
        raise TypeError(f"item must be a nn.Module or a string, but got {type(entry).__name__}")
    if id(entry) not in names:
        raise ValueError("module is not in the model")
    return names[id(entry)]

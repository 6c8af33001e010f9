"""Layers of a model that belong together, made one layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tl_nn import Identity, Module
from tl_nn.utils.parametrize import type_before_parametrizations

from .fuser_method_mappings import get_fuser_method

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(
    mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """Returns the replacements of the layers: the fused layer first, then an `Identity` for each other one.

    The hooks before the first and after the last layer go to the fused one.

    Args:
        mod_list: the layers to fuse, in order.
        is_qat: whether the layers are to be trained with rounding.
        additional_fuser_method_mapping: further functions that fuse, by the classes of the layers.

    Raises:
        AssertionError: If layers of these classes can't be fused.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> layers = [tl_nn.Linear(3, 8).eval(), tl_nn.ReLU().eval()]
        >>> [type(layer).__name__ for layer in tq.fuse_known_modules(layers, is_qat=False)]
        ['LinearReLU', 'Identity']
    """
    fuse = get_fuser_method(
        tuple(type_before_parametrizations(m) for m in mod_list), additional_fuser_method_mapping
    )
    before, after = mod_list[0]._forward_pre_hooks, mod_list[-1]._forward_hooks
    first, last = list(before.values()), list(after.values())
    before.clear()
    after.clear()
    fused = fuse(is_qat, *mod_list)
    for hook in first:
        fused.register_forward_pre_hook(hook)
    for hook in last:
        fused.register_forward_hook(hook)
    rest = [Identity().train(mod_list[0].training) for _ in mod_list[1:]]
    return [fused, *rest]


def _fuse_group(model: Module, names: list[str], is_qat: bool, fuse: Any, mapping: Any) -> None:
    layers = [model.get_submodule(name) for name in names]
    for name, layer in zip(names, fuse(layers, is_qat, mapping)):
        path, _, last = name.rpartition(".")
        setattr(model.get_submodule(path), last, layer)


def _fuse(model: Module, groups: Any, inplace: bool, fuse: Any, config: Any, is_qat: bool) -> Module:
    model = model if inplace else deepcopy(model)
    mapping = (config or {}).get("additional_fuser_method_mapping", {})
    groups = [groups] if groups and isinstance(groups[0], str) else groups
    for group in groups:
        _fuse_group(model, group, is_qat, fuse, mapping)
    return model


def fuse_modules(
    model: Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """A model in which groups of layers are one layer each, for evaluation.

    Known are a convolution or a linear layer with a normalization, a ReLU, or both, and a normalization with a ReLU.

    Args:
        model (Module): In evaluation.
        modules_to_fuse (list of str, or list of such lists): The names of the layers of a group, or of several.
        inplace (bool): Whether the model itself is changed.
        fuser_func (callable): Makes the new layers of a group.
        fuse_custom_config_dict (dict, optional): `additional_fuser_method_mapping`: functions by classes, for
            groups that aren't known.

    Raises:
        AssertionError: If a group is not known, or in training.

    Example:
        >>> import tl_nn as nn
        >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
        >>> [type(layer).__name__ for layer in fuse_modules(model, ["0", "1", "2"])]
        ['ConvReLU2d', 'Identity', 'Identity']
    """
    return _fuse(model, modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict, False)


def fuse_modules_qat(
    model: Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """`fuse_modules` for a model in training: normalizations stay, to be trained with rounding.

    Args:
        model: the module that contains the layers.
        modules_to_fuse: the names of layers that follow one another, or several such lists.
        inplace: whether the model itself is changed.
        fuser_func: the function that fuses a list of layers.
        fuse_custom_config_dict: `additional_fuser_method_mapping` by name.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(3, 8), tl_nn.ReLU()).train()
        >>> type(tq.fuse_modules_qat(model, [["0", "1"]])[0]).__name__
        'LinearReLU'
    """
    return _fuse(model, modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict, True)

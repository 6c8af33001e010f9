"""The steps of the eager mode, under PyTorch's private names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_nn import Module

from ..fake_quantize import _is_activation_post_process as _is_activation_post_process
from ..fuse_modules import _fuse, fuse_known_modules
from ..quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    FLOAT_TO_OBSERVED,
    get_default_qconfig_propagation_list,
)
from ..quantize import (
    _add_observers,
    _observer_forward_hook,
    _propagate,
    _with_observable_parts,
    _without_observers,
)

__all__: list[str] = []


def _add_observer_(
    module: Module,
    qconfig_propagation_list: Any = None,
    non_leaf_module_list: Any = None,
    device: Any = None,
    custom_module_class_mapping: dict[type, type] | None = None,
) -> None:
    """Adds observers to the layers below a module that have a configuration.

    Args:
        module: the module.
        qconfig_propagation_list: the classes of observed layers.
        non_leaf_module_list: classes with parts that are observed as one layer.
        device: has no effect, as observers are on the device of the CPU.
        custom_module_class_mapping: the classes that replace classes of the program.
    """
    defaults = get_default_qconfig_propagation_list() | set(DEFAULT_MODULE_TO_ACT_POST_PROCESS)
    _with_observable_parts(module, FLOAT_TO_OBSERVED | (custom_module_class_mapping or {}))
    _add_observers(module, set(qconfig_propagation_list or defaults), set(non_leaf_module_list or ()))


def _get_observer_dict(mod: Module, target_dict: dict[str, Any], prefix: str = "") -> None:
    """Enters the observers of a module and of its parts into a dictionary, by their names.

    Args:
        mod: the module.
        target_dict: the dictionary.
        prefix: the beginning of the names.
    """
    for name, part in mod.named_modules(prefix=prefix):
        if hasattr(part, "activation_post_process"):
            target_dict[f"{name}.activation_post_process".removeprefix(".")] = part.activation_post_process


def _get_unique_devices_(module: Module) -> set[Any]:
    return {tensor.device for tensor in (*module.parameters(), *module.buffers())}


def _propagate_qconfig_helper(
    module: Module,
    qconfig_dict: dict[Any, Any],
    qconfig_parent: Any = None,
    prefix: str = "",
    prepare_custom_config_dict: dict[str, Any] | None = None,
) -> None:
    """Assigns a configuration to each module, by name, by class or from the module above.

    Args:
        module: the module.
        qconfig_dict: configurations by name or class.
        qconfig_parent: the configuration of the module above.
        prefix: the name of the module.
        prepare_custom_config_dict: `non_traceable_module_name` and `non_traceable_module_class`: modules left out.
    """
    config = prepare_custom_config_dict or {}
    skipped = config.get("non_traceable_module_name", []), tuple(config.get("non_traceable_module_class", []))
    _propagate(module, qconfig_dict, qconfig_parent, prefix, skipped)


def _observer_forward_pre_hook(module: Module, inputs: Any) -> Any:
    return module.activation_post_process(inputs[0])


def _register_activation_post_process_hook(module: Module, pre_hook: bool = False) -> None:
    """Lets the observer of a module see its results, or its inputs.

    Args:
        module: the module, with an observer `activation_post_process`.
        pre_hook: whether the observer sees the inputs.

    Raises:
        AssertionError: the module has no observer.
    """
    if not hasattr(module, "activation_post_process"):
        raise AssertionError("Expect activation_post_process attribute already attached to the module")
    if pre_hook:
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _remove_activation_post_process(module: Module) -> None:
    """Removes the observer of a module and its hooks.

    Args:
        module: the module.
    """
    if _is_activation_post_process(module._modules.get("activation_post_process")):
        del module.activation_post_process
    own_hooks: tuple[Callable[..., Any], ...] = (_observer_forward_hook, _observer_forward_pre_hook)
    for hooks in (module._forward_hooks, module._forward_pre_hooks):
        for key in [key for key, hook in hooks.items() if hook in own_hooks]:
            del hooks[key]


def _remove_qconfig(module: Module) -> None:
    """Removes the configurations and observers of a module and of its parts.

    Args:
        module: the module.
    """
    _without_observers(module)
    _remove_activation_post_process(module)


def _fuse_modules(
    model: Module,
    modules_to_fuse: Any,
    is_qat: bool,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """Fuses lists of layers.

    Args:
        model: the model.
        modules_to_fuse: the names of the layers of a list, or lists of names.
        is_qat: whether the layers are to be trained with rounding.
        inplace: whether the model itself is changed.
        fuser_func: the function of layers that are fused.
        fuse_custom_config_dict: more functions of sequences of layers.
    """
    return _fuse(model, modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict, is_qat)


def _get_module(model: Module, submodule_key: str) -> Module:
    return model.get_submodule(submodule_key)


def _set_module(model: Module, submodule_key: str, module: Module) -> None:
    path, _, name = submodule_key.rpartition(".")
    setattr(model.get_submodule(path), name, module)

"""Tables of a backend's patterns by one of their attributes."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_nn import functional as F

from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig
from .patterns import nested_form

__all__ = [
    "entry_to_pretty_str",
    "get_fused_module_classes",
    "get_fuser_method_mapping",
    "get_fusion_pattern_to_extra_inputs_getter",
    "get_fusion_pattern_to_root_node_getter",
    "get_module_to_qat_module",
    "get_pattern_to_dtype_configs",
    "get_pattern_to_input_type_to_index",
    "get_qat_module_classes",
    "get_root_module_to_quantized_reference_module",
    "pattern_to_human_readable",
    "remove_boolean_dispatch_from_name",
]


def _by_pattern(backend_config: BackendConfig, attribute: str) -> dict[Any, Any]:
    table = backend_config._pattern_complex_format_to_config
    pairs = ((pattern, getattr(config, attribute)) for pattern, config in table.items())
    return {pattern: value for pattern, value in pairs if value is not None}


def get_pattern_to_dtype_configs(backend_config: BackendConfig) -> dict[Any, list[DTypeConfig]]:
    """The sets of types of each pattern.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "dtype_configs")


def get_qat_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes that train with rounding.

    Args:
        backend_config: the backend.
    """
    return tuple({config.qat_module for config in backend_config.configs if config.qat_module is not None})


def get_fused_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes of fused layers.

    Args:
        backend_config: the backend.
    """
    return tuple(
        {config.fused_module for config in backend_config.configs if config.fused_module is not None}
    )


def get_pattern_to_input_type_to_index(backend_config: BackendConfig) -> dict[Any, dict[str, int]]:
    """The positions of weight and bias among the arguments of each pattern.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "_input_type_to_index")


def get_root_module_to_quantized_reference_module(backend_config: BackendConfig) -> dict[type, type]:
    """The classes that keep float weights, by the class they replace.

    Args:
        backend_config: the backend.
    """
    return {
        config.root_module: config.reference_quantized_module
        for config in backend_config.configs
        if config.root_module is not None and config.reference_quantized_module is not None
    }


def get_fuser_method_mapping(backend_config: BackendConfig) -> dict[Any, Any]:
    """The functions that fuse, by pattern in nested form.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "fuser_method")


def get_module_to_qat_module(backend_config: BackendConfig) -> dict[Any, type]:
    """The classes that train with rounding, by pattern.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "qat_module")


def get_fusion_pattern_to_root_node_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """The functions that return the node with the weight, by pattern.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "_root_node_getter")


def get_fusion_pattern_to_extra_inputs_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """The functions that return further inputs of a fused layer, by pattern.

    Args:
        backend_config: the backend.
    """
    return _by_pattern(backend_config, "_extra_inputs_getter")


def remove_boolean_dispatch_from_name(p: Any) -> Any:
    """A function's public name, or another object itself.

    Args:
        p: an entry of a pattern.

    Example:
        >>> import tl_nn
        >>> remove_boolean_dispatch_from_name(tl_nn.functional.max_pool2d)
        'torch.nn.functional.max_pool2d'
    """
    for space, names in ((F, ("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool2d")),):
        for name in names:
            if p is getattr(space, name):
                return f"torch.nn.functional.{name}"
    return p


def pattern_to_human_readable(p: Any) -> Any:
    """A pattern with names for functions.

    Args:
        p: the pattern.
    """
    if isinstance(p, tuple):
        return tuple(pattern_to_human_readable(entry) for entry in p)
    return p if isinstance(p, str) else remove_boolean_dispatch_from_name(p)


def entry_to_pretty_str(entry: Any) -> str:
    """The text of a pattern's configuration.

    Args:
        entry (dict or BackendPatternConfig): The configuration.
    """
    table = entry.to_dict() if isinstance(entry, BackendPatternConfig) else entry
    lines = []
    for name, value in table.items():
        shown = pattern_to_human_readable(value) if name.startswith("pattern") else value
        lines.append(f"  '{name}': {_text(shown)},")
    return "{\n" + "\n".join(lines) + "\n}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_text(entry) for entry in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{name}': {_text(entry)}" for name, entry in value.items()) + "}"
    return str(value) if isinstance(value, (str, tl_core.dtype)) else repr(value)


def _get_pattern_in_reversed_nested_tuple_format(config: BackendPatternConfig) -> Any:
    """`nested_form`, under its older name."""
    return nested_form(config)

"""The hooks of quantized graphs in PyTorch's files: packed weights are entries of the state."""

from __future__ import annotations

from typing import Any

from tl_core.extensions.custom_classes import ScriptObject

__all__: list[str] = []

_NAME = "_packed_weight"


def _save_packed_weight(module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
    """Enters the packed weights of a graph module into its state."""
    for name, value in vars(module).items():
        if _NAME in name and isinstance(value, ScriptObject):
            state_dict[prefix + name] = value


def _load_packed_weight(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    """Takes the packed weights of a graph module out of its state."""
    for key in [key for key in state_dict if key.startswith(prefix + _NAME)]:
        if isinstance(state_dict[key], ScriptObject):
            setattr(module, key.removeprefix(prefix), state_dict.pop(key))

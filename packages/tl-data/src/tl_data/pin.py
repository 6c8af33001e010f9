"""Page-locked memory, from which an accelerator copies faster."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tl_core import Tensor
from tl_core.base import backend_registry

from .collate import like_mapping, like_sequence

__all__ = ["accelerator_answers", "pin_memory"]


def accelerator_answers() -> bool:
    """Whether an accelerator can pin memory; warns if there is none."""
    if backend_registry.load("accelerator"):
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=4,
    )
    return False


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data with its tensors in pinned memory; objects with a `pin_memory` method pin themselves."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(item, device) for item in data))
    if isinstance(data, Sequence):
        return like_sequence(data, [pin_memory(item, device) for item in data])
    return data

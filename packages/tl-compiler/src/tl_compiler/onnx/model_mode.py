"""The mode of a model during an export."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tl_nn

from .options import TrainingMode

__all__ = ["select_model_mode_for_export"]


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """Sets a model to training or evaluation mode, and restores the modes of its modules at the end.

    Args:
        model: the model. Other objects than modules have no mode.
        mode: the mode. `PRESERVE` changes nothing.

    Raises:
        TypeError: `mode` is no `TrainingMode`.

    Example:
        >>> model = tl_nn.Linear(2, 1)
        >>> with select_model_mode_for_export(model, TrainingMode.EVAL):
        ...     print(model.training)
        False
        >>> model.training
        True
    """
    if not isinstance(mode, TrainingMode):
        raise TypeError(f"mode must be a TrainingMode, got {type(mode).__name__}")
    if not isinstance(model, tl_nn.Module) or mode is TrainingMode.PRESERVE:
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for module, training in before:
            module.training = training

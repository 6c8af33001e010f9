"""Utilities of layers that round their weights in training."""

from __future__ import annotations

from typing import Any

from tl_nn import Module
from tl_nn.utils import parametrize

__all__ = ["check_float", "needed_qconfig", "share_parameters"]


def needed_qconfig(qconfig: Any) -> Any:
    """Returns the configuration. Raises AssertionError if it is None."""
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    return qconfig


def check_float(float_class: Any, mod: Module) -> None:
    """Checks that a float module has the class that is converted."""
    if parametrize.type_before_parametrizations(mod) is not float_class:
        raise AssertionError(f"from_float converts {float_class.__name__} only, but got {type(mod).__name__}")


def share_parameters(target: Any, source: Any) -> Any:
    """Lets a module use another's weight, bias and mode, and the parametrizations of the weight."""
    if parametrize.is_parametrized(source, "weight"):
        parametrize.transfer_parametrizations_and_params(source, target, "weight")
    else:
        target.weight = source.weight
    if getattr(source, "bias", None) is not None:
        target.bias = source.bias
    return target.train(source.training)

"""Utilities of layers that round their weights in training."""

from __future__ import annotations

from typing import Any

from tl_nn import Module
from tl_nn.utils import parametrize

from ....dtypes import per_channel_affine_float_qparams

__all__ = ["check_float", "check_rows", "needed_qconfig", "share_parameters"]


def needed_qconfig(qconfig: Any) -> Any:
    """Returns the configuration. Raises AssertionError if it is None."""
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    return qconfig


def check_float(cls: Any, mod: Module) -> None:
    """Checks that a float module has the class that a class of this package converts, and a configuration."""
    name = cls._FLOAT_MODULE.__name__
    if parametrize.type_before_parametrizations(mod) is not cls._FLOAT_MODULE:
        raise AssertionError(
            f"qat.{cls.__name__}.from_float only works for {name}, but got {type(mod).__name__}"
        )
    if not hasattr(mod, "qconfig"):
        raise AssertionError(f"Input float module must have qconfig defined, but the {name} has none")
    if not mod.qconfig:
        raise AssertionError(f"Input float module must have a valid qconfig, but got {mod.qconfig}")


def check_rows(name: str, observer: Any) -> None:
    """Checks that the weight of an embedding has a scale and a floating zero point for each row.

    Args:
        name: the name of the layer for the message.
        observer: the fake quantization of the weight.
    """
    if observer.qscheme is not per_channel_affine_float_qparams:
        raise AssertionError(
            f"{name} weights requires a qscheme of torch.per_channel_affine_float_qparams, but qconfig.weight has "
            f"{observer.qscheme}"
        )


def share_parameters(target: Any, source: Any) -> Any:
    """Lets a module use another's weight, bias and mode, and the parametrizations of the weight."""
    if parametrize.is_parametrized(source, "weight"):
        parametrize.transfer_parametrizations_and_params(source, target, "weight")
    else:
        target.weight = source.weight
    if getattr(source, "bias", None) is not None:
        target.bias = source.bias
    return target.train(source.training)

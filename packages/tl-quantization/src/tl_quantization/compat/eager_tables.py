"""Tables and types of the eager mode, under PyTorch's private and retired names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from tl_core.operators import packets
from tl_nn import Identity, Module
from tl_nn import functional as F
from tl_nn.utils.parametrize import type_before_parametrizations

from ..fake_quantize import FakeQuantizeBase
from ..fuser_method_mappings import _METHODS as _DEFAULT_OP_LIST_TO_FUSER_METHOD
from ..fuser_method_mappings import sequential_fuser as _sequential_wrapper2
from ..observer_base import ObserverBase
from ..qconfig import QConfig
from ..quantization_mappings import DEFAULT_MODULE_TO_ACT_POST_PROCESS

__all__ = [
    "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS",
    "ObserverOrFakeQuantize",
    "QConfigAny",
    "QConfigDynamic",
    "_DEFAULT_OP_LIST_TO_FUSER_METHOD",
    "_sequential_wrapper2",
    "get_default_float_to_quantized_operator_mappings",
    "get_quantized_operator",
]

ObserverOrFakeQuantize = ObserverBase | FakeQuantizeBase
QConfigAny = QConfig | None

#: Functions of floating numbers to operators of quantized tensors.
DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS: dict[Any, Any] = {
    getattr(F, name): getattr(packets.quantized, name)
    for name in ("elu", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "dropout")
}


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfigDynamic(_Pair):
    """The older form of the configuration of dynamic layers: constructors of the observers.

    Args:
        activation: the constructor of the observer of activations.
        weight: the constructor of the observer of weights.

    Raises:
        ValueError: the weight's observer is an object.
    """

    __slots__ = ()

    def __new__(cls, activation: Any = Identity, weight: Any = Identity) -> QConfigDynamic:
        if isinstance(weight, Module):
            raise ValueError("weight must be a constructor of an observer, but got an observer")
        warnings.warn("QConfigDynamic is going to be deprecated, use QConfig instead", stacklevel=2)
        return super().__new__(cls, activation, weight)


def _add_module_to_qconfig_obs_ctr(qconfig: Any, module: Module | None) -> Any:
    """The configuration with observers on the device of a module.

    Args:
        qconfig: the configuration.
        module: the module, with tensors on one device.
    """
    if module is None or qconfig is None or tuple(qconfig) == (None, None):
        return qconfig

    def device() -> dict[str, Any] | None:
        devices = {tensor.device for tensor in (*module.parameters(), *module.buffers())}
        if len(devices) > 1:
            raise AssertionError(f"the module's tensors must be on one device, but are on {devices}")
        return {"device": next(iter(devices))} if devices else None

    def on_device(make: Any) -> Any:
        try:
            make(factory_kwargs=None)
        except TypeError:  # an observer without tensors
            return make
        return make.with_callable_args(factory_kwargs=device) if hasattr(make, "with_callable_args") else make

    return type(qconfig)(on_device(qconfig.activation), on_device(qconfig.weight))


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    """A copy of the table of functions.

    Example:
        >>> len(get_default_float_to_quantized_operator_mappings())
        6
    """
    return copy(DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS)


def get_quantized_operator(float_op: Callable[..., Any] | str) -> Any:
    """The operator of quantized tensors for a function of floating numbers.

    Args:
        float_op: the function.

    Raises:
        AssertionError: there is none.

    Example:
        >>> get_quantized_operator(F.elu)
        <OpOverloadPacket(op='quantized.elu')>
    """
    operator = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    if operator is None:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return operator


def _get_special_act_post_process(module: Module) -> Any:
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type_before_parametrizations(module))


def _has_special_act_post_process(module: Module) -> bool:
    return module.training and type_before_parametrizations(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS

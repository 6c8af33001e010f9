"""The quantizer for integer kernels of x86 processors: activations of uint8, weights of int8 with a scale a channel."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets
from tl_nn import functional as F

from ..dtypes import per_channel_symmetric, per_tensor_affine
from ..fake_quantize import FusedMovingAvgObsFakeQuantize
from ..observer import MovingAveragePerChannelMinMaxObserver, PerChannelMinMaxObserver, PlaceholderObserver
from .configurations import QuantizationConfig, name_filter
from .quantizer import QuantizationSpec, Quantizer
from .x86_patterns import (
    DEFAULT_OPS,
    INT8_IN_INT8_OUT,
    QUANT_ANNOTATION_KEY,
    QUANTIZABLE_OPS,
    Filter,
    annotate_with,
    share_output_observers,
)
from .xnnpack_quantizer import activation_factory

__all__ = [
    "QUANT_ANNOTATION_KEY",
    "X86InductorQuantizer",
    "default_quantizable_ops",
    "get_default_x86_inductor_quantization_config",
    "get_x86_inductor_linear_dynamic_fp16_config",
    "int8_in_int8_out_ops",
    "propagation_quantizable_ops",
    "quantizable_ops",
]

int8_in_int8_out_ops = set(INT8_IN_INT8_OUT)
propagation_quantizable_ops = int8_in_int8_out_ops
default_quantizable_ops = set(DEFAULT_OPS)
quantizable_ops = set(QUANTIZABLE_OPS)


@lru_cache
def get_default_x86_inductor_quantization_config(
    is_qat: bool = False, is_dynamic: bool = False, reduce_range: bool = False
) -> QuantizationConfig:
    """The configuration of activations of uint8 and weights of int8.

    Args:
        is_qat: whether the configuration is for training.
        is_dynamic: whether activations get a scale at each call.
        reduce_range: whether activations have 7 bits.

    Example:
        >>> get_default_x86_inductor_quantization_config(reduce_range=True).input_activation.quant_max
        127
    """
    activation = QuantizationSpec(
        dtype=tl_core.uint8,
        quant_min=0,
        quant_max=127 if reduce_range else 255,
        qscheme=per_tensor_affine,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=activation_factory(is_qat, is_dynamic),
    )
    factory: Any = PerChannelMinMaxObserver.with_args(eps=2**-12)
    if is_qat:
        factory = FusedMovingAvgObsFakeQuantize.with_args(
            eps=2**-12, observer=MovingAveragePerChannelMinMaxObserver
        )
    weight = QuantizationSpec(
        dtype=tl_core.int8,
        quant_min=-128,
        quant_max=127,
        qscheme=per_channel_symmetric,
        ch_axis=0,
        observer_or_fake_quant_ctr=factory,
    )
    return QuantizationConfig(activation, activation, weight, None, is_qat)


@lru_cache
def get_x86_inductor_linear_dynamic_fp16_config() -> QuantizationConfig:
    """The configuration of linear layers that store their weight as float16.

    Example:
        >>> get_x86_inductor_linear_dynamic_fp16_config().weight.dtype
        torch.float16
    """
    weight = QuantizationSpec(dtype=tl_core.float16, observer_or_fake_quant_ctr=PlaceholderObserver)
    return QuantizationConfig(None, None, weight, None)


def _operators() -> dict[Any, Any]:
    aten = packets.aten
    return {
        nn.Conv1d: aten.conv1d.default,
        F.conv1d: aten.conv1d.default,
        nn.Conv2d: aten.conv2d.default,
        F.conv2d: aten.conv2d.default,
        nn.Linear: aten.linear.default,
        F.linear: aten.linear.default,
        nn.MaxPool2d: aten.max_pool2d.default,
        F.max_pool2d: aten.max_pool2d.default,
        tl_core.cat: aten.cat.default,
        nn.AvgPool2d: aten.avg_pool2d.default,
        F.avg_pool2d: aten.avg_pool2d.default,
        nn.AdaptiveAvgPool2d: aten.adaptive_avg_pool2d.default,
        F.adaptive_avg_pool2d: aten.adaptive_avg_pool2d.default,
        tl_core.flatten: aten.flatten.using_ints,
        tl_core.matmul: aten.matmul.default,
        tl_core.mul: aten.mul.Tensor,
    }


def _all_inside(module_name: str) -> Filter:
    is_inside = name_filter(module_name)
    return lambda nodes: all(map(is_inside, nodes))


def _exactly_one(operators: Any, what: str) -> Filter:
    """The function that tells whether one node of a pattern calls one of some operators."""

    def has_one(nodes: list[Node]) -> bool:
        count = sum(node.target in operators for node in nodes)
        if count > 1:
            raise NotImplementedError(f"Several nodes within a single pattern are {what}.")
        return count == 1

    return has_one


class X86InductorQuantizer(Quantizer):
    """Quantizes convolutions and linear layers with the functions behind them, and passes integers on to poolings.

    A configuration of a module's name comes before one of an operator, and both before the global one. None keeps a
    part in floating numbers. Configurations of training and calibration, static and dynamic, don't mix: a later one of
    another mode is skipped with a warning.

    Example:
        >>> quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
        >>> quantizer.set_module_name_qconfig("head", None).global_config.is_qat
        False
    """

    module_function_to_aten_operator_type = _operators()

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.operator_type_qconfig: dict[Any, QuantizationConfig | None] = {}
        self.module_name_qconfig: dict[str, QuantizationConfig | None] = {}

    def _modes(self) -> tuple[bool | None, bool | None]:
        """Whether the present configurations are for training, and whether they are dynamic."""
        is_qat = is_dynamic = None
        for config in (
            *self.module_name_qconfig.values(),
            *self.operator_type_qconfig.values(),
            self.global_config,
        ):
            if config is None:
                continue
            is_qat = config.is_qat if is_qat is None else is_qat
            if config.input_activation is not None and is_dynamic is None:
                is_dynamic = config.input_activation.is_dynamic
        return is_qat, is_dynamic

    def _is_other_mode(self, config: QuantizationConfig | None) -> bool:
        if config is None:
            return False
        is_qat, is_dynamic = self._modes()
        is_other = False
        if is_qat is not None and is_qat != config.is_qat:
            warnings.warn("Mixed QAT and Non-QAT quantization config is not supported.", stacklevel=3)
            is_other = True
        spec = config.input_activation
        if is_dynamic is not None and spec is not None and is_dynamic != spec.is_dynamic:
            warnings.warn("Mixed dynamic and static quantization config is not supported.", stacklevel=3)
            is_other = True
        return is_other

    def _is_skipped(self, name: Any, config: QuantizationConfig | None) -> bool:
        if not self._is_other_mode(config):
            return False
        warnings.warn(f"Skip the quantization config for {name}.", stacklevel=3)
        return True

    def set_global(self, quantization_config: QuantizationConfig | None) -> X86InductorQuantizer:
        """Sets the configuration of all other parts.

        Args:
            quantization_config: the configuration.
        """
        if self._is_other_mode(quantization_config):
            warnings.warn("Skip the global quantization config.", stacklevel=2)
        else:
            self.global_config = quantization_config
        return self

    def get_global_quantization_config(self) -> QuantizationConfig | None:
        """The global configuration."""
        if not isinstance(self.global_config, QuantizationConfig):
            warnings.warn(
                "X86InductorQuantizer has no global configuration: call set_global first", stacklevel=2
            )
        return self.global_config

    def set_function_type_qconfig(
        self, function_type: Any, quantization_config: QuantizationConfig | None
    ) -> X86InductorQuantizer:
        """Sets the configuration of calls of a function, such as `nn.functional.linear`.

        Args:
            function_type: the function.
            quantization_config: the configuration.
        """
        return self._set_operator("function", function_type, quantization_config)

    def set_module_type_qconfig(
        self, module_type: Any, quantization_config: QuantizationConfig | None
    ) -> X86InductorQuantizer:
        """Sets the configuration of modules of a class, such as `nn.Linear`.

        Args:
            module_type: the class.
            quantization_config: the configuration.
        """
        return self._set_operator("Module", module_type, quantization_config)

    def _set_operator(self, what: str, key: Any, config: QuantizationConfig | None) -> X86InductorQuantizer:
        if self._is_skipped(key, config):
            return self
        operator = self.module_function_to_aten_operator_type.get(key)
        if operator is None:
            warnings.warn(
                f"{what}: Unable to customize quantization config for {key} by X86InductorQuantizer.",
                stacklevel=3,
            )
        else:
            self.operator_type_qconfig[operator] = config
        return self

    def set_module_name_qconfig(
        self, module_name: str, quantization_config: QuantizationConfig | None
    ) -> X86InductorQuantizer:
        """Sets the configuration of a module, and of what it contains.

        Args:
            module_name: the dotted name.
            quantization_config: the configuration.
        """
        if not self._is_skipped(module_name, quantization_config):
            self.module_name_qconfig[module_name] = quantization_config
        return self

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes annotations: by names of modules, by operators, then by the global configuration."""
        for name, config in self.module_name_qconfig.items():
            annotate_with(model, config, _all_inside(name))
        for operator, config in self.operator_type_qconfig.items():
            annotate_with(model, config, _exactly_one((operator,), str(operator)))
        if self.global_config is not None:
            is_wanted = _exactly_one(DEFAULT_OPS, "default quantizable operations")
            annotate_with(model, self.global_config, is_wanted)
        share_output_observers(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """All models are valid."""

"""The quantizer for kernels of XNNPACK: symmetric weights and affine activations, both of int8."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_nn import functional as F

from ..dtypes import per_channel_symmetric, per_tensor_affine, per_tensor_symmetric
from ..fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from ..observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from .configurations import OperatorConfig, QuantizationConfig, module_filter, name_filter
from .quantizer import QuantizationSpec, Quantizer
from .xnnpack_quantizer_utils import OP_TO_ANNOTATOR, convert_scalars_to_attrs, propagate_annotation

__all__ = ["XNNPACKQuantizer", "get_symmetric_quantization_config"]


def activation_factory(is_qat: bool, is_dynamic: bool) -> Any:
    """The class of observers of activations, with its arguments.

    Args:
        is_qat: whether the observer rounds.
        is_dynamic: whether the scale is computed at each call.
    """
    if is_qat and is_dynamic:
        return FakeQuantize.with_args(
            eps=2**-12, observer=MovingAverageMinMaxObserver.with_args(averaging_constant=1)
        )
    kind: Any = PlaceholderObserver if is_dynamic else HistogramObserver
    return (FusedMovingAvgObsFakeQuantize if is_qat else kind).with_args(eps=2**-12)


def _weight_factory(is_qat: bool, is_per_channel: bool) -> Any:
    if not is_qat:
        return (PerChannelMinMaxObserver if is_per_channel else MinMaxObserver).with_args(eps=2**-12)
    observer: Any = MovingAveragePerChannelMinMaxObserver if is_per_channel else MovingAverageMinMaxObserver
    return FusedMovingAvgObsFakeQuantize.with_args(eps=2**-12, observer=observer)


@lru_cache
def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """The configuration of int8 with symmetric weights.

    Args:
        is_per_channel: whether each channel of a weight has a scale.
        is_qat: whether the configuration is for training.
        is_dynamic: whether activations get a scale at each call.
        act_qmin: the smallest integer of activations.
        act_qmax: the largest integer of activations.
        weight_qmin: the smallest integer of weights.
        weight_qmax: the largest integer of weights.

    Example:
        >>> get_symmetric_quantization_config().weight.quant_min
        -127
    """
    activation = QuantizationSpec(
        dtype=tl_core.int8,
        quant_min=act_qmin,
        quant_max=act_qmax,
        qscheme=per_tensor_affine,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=activation_factory(is_qat, is_dynamic),
    )
    weight = QuantizationSpec(
        dtype=tl_core.int8,
        quant_min=weight_qmin,
        quant_max=weight_qmax,
        qscheme=per_channel_symmetric if is_per_channel else per_tensor_symmetric,
        ch_axis=0,
        observer_or_fake_quant_ctr=_weight_factory(is_qat, is_per_channel),
    )
    return QuantizationConfig(activation, None if is_dynamic else activation, weight, None, is_qat)


def _configs() -> list[OperatorConfig]:
    operators = (
        [[nn.Conv2d, nn.ReLU], [nn.Conv2d, F.relu], [F.conv2d, nn.ReLU], [F.conv2d, F.relu]],
        [[nn.Linear], [F.linear]],
        [[tl_core.add]],
        [[nn.AdaptiveAvgPool2d], [F.adaptive_avg_pool2d]],
    )
    configs = [
        get_symmetric_quantization_config(is_per_channel=by_channel, is_qat=is_qat)
        for by_channel in (False, True)
        for is_qat in (False, True)
    ]
    return [OperatorConfig(config, [*patterns]) for config in configs for patterns in operators]


class XNNPACKQuantizer(Quantizer):
    """Quantizes linear layers, convolutions, sums, products, poolings and concatenations for XNNPACK.

    A configuration of a module's name comes before one of its class, and both before the global one.

    Example:
        >>> quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        >>> quantizer.global_config.weight.ch_axis
        0
    """

    supported_config_and_operators = _configs()
    #: The kinds of operators that training alone has.
    STATIC_QAT_ONLY_OPS = ("conv_bn_relu", "conv_bn", "conv_transpose_bn_relu", "conv_transpose_bn")
    #: The kinds of operators with a scale from calibration, fused ones first.
    STATIC_OPS = (
        "linear_relu", "linear", "conv_relu", "conv", "conv_transpose_relu", "adaptive_avg_pool2d", "gru_io_only",
        "add_relu", "add", "mul_relu", "mul", "cat",
    )  # fmt: skip
    #: The kinds of operators with a scale of each call.
    DYNAMIC_OPS = ("linear",)

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.operator_type_config: dict[Any, QuantizationConfig | None] = {}
        self.module_type_config: dict[Any, QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """The configurations that the quantizer has operators for."""
        return list({config for config, _ in cls.supported_config_and_operators})

    @classmethod
    def get_supported_operator_for_quantization_config(
        cls, quantization_config: QuantizationConfig | None
    ) -> list[list[Any]]:
        """The operators of a configuration, or of all for None.

        Args:
            quantization_config: the configuration.
        """
        if quantization_config is None:
            return [pattern for _, patterns in cls.supported_config_and_operators for pattern in patterns]
        for config, patterns in cls.supported_config_and_operators:
            if config == quantization_config:
                return patterns
        return []

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """The operators with their configurations."""
        return cls.supported_config_and_operators

    def set_global(self, quantization_config: QuantizationConfig) -> XNNPACKQuantizer:
        """Sets the configuration of all other parts.

        Args:
            quantization_config: the configuration.
        """
        self.global_config = quantization_config
        return self

    def set_operator_type(
        self, operator_type: Any, quantization_config: QuantizationConfig
    ) -> XNNPACKQuantizer:
        """Stores the configuration of an operator. Annotations follow names, classes and the global one.

        Args:
            operator_type: the operator.
            quantization_config: the configuration.
        """
        self.operator_type_config[operator_type] = quantization_config
        return self

    def set_module_type(self, module_type: Any, quantization_config: QuantizationConfig) -> XNNPACKQuantizer:
        """Sets the configuration of modules of a class, and of what they contain.

        Args:
            module_type: the class.
            quantization_config: the configuration.
        """
        self.module_type_config[module_type] = quantization_config
        return self

    def set_module_name(
        self, module_name: str, quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Sets the configuration of a module, and of what it contains.

        Args:
            module_name: the dotted name.
            quantization_config: the configuration.

        Raises:
            AssertionError: the configuration is None.
        """
        if quantization_config is None:
            raise AssertionError("quantization_config == None is not supported yet")
        self.module_name_config[module_name] = quantization_config
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Replaces numbers in sums and products by tensors."""
        return convert_scalars_to_attrs(model)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes annotations."""
        config = self.global_config
        is_dynamic = config is not None and bool(getattr(config.input_activation, "is_dynamic", False))
        names = {name: name_filter(name) for name in self.module_name_config}
        kinds = {kind: module_filter(kind) for kind in self.module_type_config}

        def is_other(node: Node) -> bool:
            return not any(is_inside(node) for is_inside in (*names.values(), *kinds.values()))

        for name, is_inside in names.items():
            self._annotate(model, self.module_name_config[name], is_inside, is_dynamic)
        for kind, is_inside in kinds.items():
            self._annotate(model, self.module_type_config[kind], is_inside, is_dynamic)
        self._annotate(model, config, is_other, is_dynamic)
        propagate_annotation(model)
        return model

    def _annotate(
        self,
        model: GraphModule,
        config: QuantizationConfig | None,
        is_wanted: Callable[[Node], bool],
        is_dynamic: bool,
    ) -> None:
        if config is None:
            return
        if is_dynamic:
            kinds: tuple[str, ...] = self.DYNAMIC_OPS
        else:
            kinds = (*(self.STATIC_QAT_ONLY_OPS if config.is_qat else ()), *self.STATIC_OPS)
        for kind in kinds:
            OP_TO_ANNOTATOR[kind](model, config, is_wanted)

    def validate(self, model: GraphModule) -> None:
        """All models are valid."""

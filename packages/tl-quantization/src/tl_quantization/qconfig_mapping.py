"""Configurations of observers by class, operator and name: the table of graph quantization."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import tl_core
import tl_nn as nn
from tl_nn import functional as F

from .fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    PlaceholderObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    default_reuse_input_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]

# The keys of a dictionary of configurations.
_GLOBAL_DICT_KEY = ""
_OBJECT_TYPE_DICT_KEY = "object_type"
_MODULE_NAME_REGEX_DICT_KEY = "module_name_regex"
_MODULE_NAME_DICT_KEY = "module_name"
_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY = "module_name_object_type_order"

_STYLES = (
    "global_qconfig",
    "object_type_qconfigs",
    "module_name_regex_qconfigs",
    "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
)


class QConfigMapping:
    """A configuration for each part of a model: by its name, by a pattern of names, by its class, or for all.

    The most exact entry decides: the name with class and position, then the name, the pattern, the class, and the
    configuration for all. An entry of None leaves a part in floating numbers.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> table = tq.QConfigMapping().set_global(tq.default_qconfig).set_object_type(tl_nn.Linear, None)
        >>> table.object_type_qconfigs[tl_nn.Linear] is None
        True
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Any, int], Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """Sets the configuration of parts without an entry of their own."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """Sets the configuration of a module class, a function, or a method by its name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """Sets the configuration of modules whose names a pattern matches. The first pattern that matches decides."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """Sets the configuration of a module."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """Sets the configuration of one call in a module.

        Args:
            module_name (str): The module that calls.
            object_type: The class, function or method that is called.
            index (int): The position among the module's calls of this object.
            qconfig (QConfig or None): The configuration.
        """
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> dict[str, Any]:
        """The table as a dictionary: "" for all, and a list of entries for each kind."""
        return {
            _GLOBAL_DICT_KEY: self.global_qconfig,
            _OBJECT_TYPE_DICT_KEY: list(self.object_type_qconfigs.items()),
            _MODULE_NAME_REGEX_DICT_KEY: list(self.module_name_regex_qconfigs.items()),
            _MODULE_NAME_DICT_KEY: list(self.module_name_qconfigs.items()),
            _MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY: [
                (*key, qconfig) for key, qconfig in self.module_name_object_type_order_qconfigs.items()
            ],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The table of a dictionary, as `to_dict` returns it. Keys may be absent."""
        table = cls().set_global(qconfig_dict.get(_GLOBAL_DICT_KEY))
        for entry in qconfig_dict.get(_OBJECT_TYPE_DICT_KEY, ()):
            table.set_object_type(*entry)
        for entry in qconfig_dict.get(_MODULE_NAME_REGEX_DICT_KEY, ()):
            table.set_module_name_regex(*entry)
        for entry in qconfig_dict.get(_MODULE_NAME_DICT_KEY, ()):
            table.set_module_name(*entry)
        for entry in qconfig_dict.get(_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY, ()):
            table.set_module_name_object_type_order(*entry)
        return table

    def __repr__(self) -> str:
        lines = []
        for style in _STYLES:
            entries = getattr(self, style)
            lines.append(f"\n {style}")
            if style == "global_qconfig":
                lines.append(f"\n  {entries}")
            else:
                lines += [f"\n  {key}: {qconfig}" for key, qconfig in entries.items()] or [
                    f"\n  {OrderedDict()}"
                ]
        return f"{type(self).__name__} ({''.join(lines)}\n)"


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The default configurations of quantization after training.

    Args:
        backend (str): "x86", "fbgemm", "qnnpack" or "onednn".
        version (int): The version of the configuration for all.

    Raises:
        AssertionError: If there is no such backend.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> mapping = tq.get_default_qconfig_mapping("qnnpack")
        >>> mapping.object_type_qconfigs[tl_nn.Sigmoid].activation().scale
        tensor([0.0039])
    """
    unit, symmetric = default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer
    qconfig = get_default_qconfig(backend, version)
    return _default_mapping(qconfig, backend, default_weight_observer, unit, symmetric)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The default configurations of training with rounding.

    Args:
        backend (str): "x86", "fbgemm", "qnnpack" or "onednn".
        version (int): The version of the configuration for all.

    Raises:
        AssertionError: If there is no such backend.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> mapping = tq.get_default_qat_qconfig_mapping("x86")
        >>> type(mapping.object_type_qconfigs[tl_nn.Tanh].activation()).__name__
        'FixedQParamsFakeQuantize'
    """
    unit, symmetric = (
        default_fixed_qparams_range_0to1_fake_quant,
        default_fixed_qparams_range_neg1to1_fake_quant,
    )
    qconfig = get_default_qat_qconfig(backend, version)
    return _default_mapping(qconfig, backend, default_weight_fake_quant, unit, symmetric)


def _get_symmetric_qnnpack_qconfig_mapping() -> QConfigMapping:
    """The configurations of "qnnpack" with signed and symmetric integers."""
    unit, symmetric = default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer
    qconfig = default_symmetric_qnnpack_qconfig
    return _default_mapping(qconfig, "qnnpack", default_weight_observer, unit, symmetric)


def _get_symmetric_qnnpack_qat_qconfig_mapping() -> QConfigMapping:
    """As `_get_symmetric_qnnpack_qconfig_mapping`, for training."""
    unit, symmetric = (
        default_fixed_qparams_range_0to1_fake_quant,
        default_fixed_qparams_range_neg1to1_fake_quant,
    )
    qconfig = default_symmetric_qnnpack_qat_qconfig
    return _default_mapping(qconfig, "qnnpack", default_weight_fake_quant, unit, symmetric)


# Operators whose results are from 0 to 1, and from -1 to 1.
_UNIT: tuple[Any, ...] = (
    nn.Hardsigmoid, F.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid, tl_core.sigmoid, "sigmoid", "sigmoid_",
    nn.Softmax,
)  # fmt: skip
_SYMMETRIC: tuple[Any, ...] = (nn.Tanh, tl_core.tanh, "tanh", "tanh_")


def _default_mapping(
    qconfig: QConfig, backend: str, weight: Any, unit: Any, symmetric: Any
) -> QConfigMapping:
    """The mapping for a default configuration.

    Args:
        qconfig: the configuration.
        backend: the backend that it belongs to.
        weight: the observer of weights with one scale.
        unit: the observer of results from 0 to 1.
        symmetric: the observer of results from -1 to 1.
    """
    table = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    transposed = qconfig if backend == "onednn" else QConfig(qconfig.activation, weight)
    for kind in (
        nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
        F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d,
    ):  # fmt: skip
        table.set_object_type(kind, transposed)
    normalized = QConfig(qconfig.activation, PlaceholderObserver)  # the weight stays in floating numbers
    for normalization in (F.layer_norm, nn.LayerNorm):
        table.set_object_type(normalization, normalized)
    table.set_object_type(nn.PReLU, QConfig(HistogramObserver, MinMaxObserver))
    for kinds, activation in ((_UNIT, unit), (_SYMMETRIC, symmetric)):
        for kind in kinds:
            table.set_object_type(kind, QConfig(activation, weight))
    return table

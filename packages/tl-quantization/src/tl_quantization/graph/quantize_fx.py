"""Quantization of models as graphs: layers and functions are observed and replaced without stubs in the model."""

from __future__ import annotations

import warnings
from typing import Any

from tl_compiler.fx import GraphModule
from tl_nn import Module

from ..nn.quantized import FloatFunctional, FXFloatFunctional
from ..qconfig_mapping import QConfigMapping
from .convert import convert
from .custom_config import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig
from .fuse import fuse
from .prepare import prepare
from .tracer import QuantizationTracer

__all__ = [
    "convert_fx",
    "convert_to_reference_fx",
    "fuse_fx",
    "prepare_fx",
    "prepare_qat_fx",
    "prepare_standalone_module",
]

_PRESERVED = "_user_preserved_attributes"


def _check_graph_module(model: Any) -> None:
    if not isinstance(model, GraphModule):
        raise ValueError(
            f"input model must be a GraphModule, got type {type(model)}: call prepare_fx before convert_fx"
        )


def _attach(model: Any, attributes: dict[str, Any]) -> None:
    """Sets attributes that copies of a graph module keep."""
    model.meta[_PRESERVED] = dict(attributes)
    for name, value in attributes.items():
        setattr(model, name, value)


def _exchange_functionals(model: Module) -> None:
    """Replaces `FloatFunctional`, whose observers only the eager mode needs."""
    for name, child in model.named_children():
        if isinstance(child, FloatFunctional):
            model._modules[name] = FXFloatFunctional()
        else:
            _exchange_functionals(child)


def fuse_fx(model: Module, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """Traces a model and fuses its layers, for evaluation.

    Args:
        model (Module): In evaluation.
        fuse_custom_config (FuseCustomConfig or dict, optional): Exceptions.
        backend_config (BackendConfig or dict, optional): The backend, by default the native one.

    Example:
        >>> import tl_nn as nn
        >>> fused = fuse_fx(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval())
        >>> type(getattr(fused, "0")).__name__
        'ConvReLU2d'
    """
    custom = fuse_custom_config or FuseCustomConfig()
    custom = FuseCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    preserved = {name: getattr(model, name) for name in custom.preserved_attributes if hasattr(model, name)}
    traced = GraphModule(model, QuantizationTracer([], []).trace(model))
    fused = fuse(traced, False, custom, backend_config)
    _attach(fused, preserved)
    return fused


def _prepare(
    model: Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any,
    equalization: Any,
    backend_config: Any,
    is_standalone: bool = False,
) -> GraphModule:
    custom = prepare_custom_config or PrepareCustomConfig()
    custom = PrepareCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    if isinstance(qconfig_mapping, dict):
        warnings.warn(
            "Passing a QConfig dictionary to prepare is deprecated, use a QConfigMapping instead.",
            FutureWarning,
            stacklevel=3,
        )
        qconfig_mapping = QConfigMapping.from_dict(qconfig_mapping)
    _exchange_functionals(model)
    names = [*custom.non_traceable_module_names, *custom.standalone_module_names]
    kinds = [
        *custom.non_traceable_module_classes,
        *custom.standalone_module_classes,
        *(kind for table in custom.float_to_observed_mapping.values() for kind in table),
    ]
    preserved = {name: getattr(model, name) for name in custom.preserved_attributes if hasattr(model, name)}
    tracer = QuantizationTracer(names, kinds)
    traced = GraphModule(model, tracer.trace(model))
    scopes = dict(tracer.node_name_to_scope)
    fuse_custom = FuseCustomConfig().set_preserved_attributes(custom.preserved_attributes)
    fused = fuse(traced, is_qat, fuse_custom, backend_config)
    prepared = prepare(
        fused,
        qconfig_mapping,
        is_qat,
        scopes,
        example_inputs,
        custom,
        equalization,
        backend_config,
        is_standalone,
        prepare_standalone_module,
    )
    _attach(prepared, preserved)
    return prepared


def prepare_standalone_module(
    model: Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """Prepares a module that is a call of its parent.

    Args:
        model: the module.
        qconfig_mapping: the configurations of its parts.
        is_qat: whether it will be trained with rounding.
        example_inputs: inputs of the module.
        prepare_custom_config: exceptions: `input_quantized_idxs` and `output_quantized_idxs` describe its ends.
        backend_config: the backend.
    """
    return _prepare(
        model, qconfig_mapping, is_qat, example_inputs, prepare_custom_config, None, backend_config, True
    )


def prepare_fx(
    model: Module,
    qconfig_mapping: Any,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """Traces a model, fuses its layers and adds observers. Run it on data, then call `convert_fx`.

    Args:
        model (Module): In evaluation. Its parameters are shared with the result.
        qconfig_mapping (QConfigMapping or dict): The configurations, such as `get_default_qconfig_mapping()`.
        example_inputs (tuple): Inputs of the model.
        prepare_custom_config (PrepareCustomConfig or dict, optional): Exceptions.
        _equalization_config (QConfigMapping or dict, optional): The layers whose input and weight are equalized, each
            with an `EqualizationQConfig`.
        backend_config (BackendConfig or dict, optional): The backend, by default the native one.

    Raises:
        TraceError: If the model's code depends on numbers. The error names the line; `non_traceable_module_name` and
            `non_traceable_module_class` of `prepare_custom_config` leave a module untraced.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> model, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval(), tl_core.rand(16, 4)
        >>> prepared = prepare_fx(model, tq.get_default_qconfig_mapping("x86"), (x,))
        >>> _ = prepared(x)
        >>> quantized = convert_fx(prepared)
        >>> float((quantized(x) - model(x)).abs().max()) < 0.05
        True
    """
    return _prepare(
        model,
        qconfig_mapping,
        False,
        example_inputs,
        prepare_custom_config,
        _equalization_config,
        backend_config,
    )


def prepare_qat_fx(
    model: Module,
    qconfig_mapping: Any,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """Traces a model, fuses its layers and adds rounding. Train it, then call `convert_fx`.

    Args:
        model (Module): In training. Its parameters are shared with the result.
        qconfig_mapping (QConfigMapping or dict): The configurations, such as `get_default_qat_qconfig_mapping()`.
        example_inputs (tuple): Inputs of the model.
        prepare_custom_config (PrepareCustomConfig or dict, optional): Exceptions.
        backend_config (BackendConfig or dict, optional): The backend, by default the native one.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> model, x = nn.Sequential(nn.Linear(4, 2)).train(), tl_core.rand(16, 4)
        >>> prepared = prepare_qat_fx(model, tq.get_default_qat_qconfig_mapping("x86"), (x,))
        >>> prepared(x).sum().backward()
        >>> convert_fx(prepared.eval())(x).shape
        torch.Size([16, 2])
    """
    return _prepare(model, qconfig_mapping, True, example_inputs, prepare_custom_config, None, backend_config)


def _convert(
    graph_module: Any,
    is_reference: bool,
    convert_custom_config: Any,
    qconfig_mapping: Any,
    backend_config: Any,
    is_decomposed: bool = False,
    remove_qconfig: bool = True,
    keep_original_weights: bool = False,
    is_standalone: bool = False,
) -> GraphModule:
    _check_graph_module(graph_module)
    custom = convert_custom_config or ConvertCustomConfig()
    custom = ConvertCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    present = graph_module.meta.get(_PRESERVED, {})
    preserved = {
        name: getattr(graph_module, name)
        for name in {*custom.preserved_attributes, *present}
        if hasattr(graph_module, name)
    }
    quantized = convert(
        graph_module, is_reference, custom, is_standalone, remove_qconfig, qconfig_mapping, backend_config,
        is_decomposed, keep_original_weights,
    )  # fmt: skip
    _attach(quantized, preserved)
    return quantized


def convert_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantized model for one from `prepare_fx` or `prepare_qat_fx`: integer layers in place of float ones.

    Args:
        graph_module (GraphModule): With observers. It stays as it is.
        convert_custom_config (ConvertCustomConfig or dict, optional): Exceptions.
        _remove_qconfig (bool): Whether configurations are removed.
        qconfig_mapping (QConfigMapping or dict, optional): None for an entry leaves that part in floating numbers.
        backend_config (BackendConfig or dict, optional): The backend, by default the native one.
        keep_original_weights (bool): Whether dynamic linear layers keep their float weights.

    Raises:
        ValueError: If the model is no graph module.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> x = tl_core.rand(16, 4)
        >>> prepared = prepare_fx(nn.Sequential(nn.Linear(4, 2)).eval(), tq.get_default_qconfig_mapping("x86"), (x,))
        >>> _ = prepared(x)
        >>> type(getattr(convert_fx(prepared), "0")).__name__
        'Linear'
    """
    return _convert(
        graph_module, False, convert_custom_config, qconfig_mapping, backend_config,
        remove_qconfig=_remove_qconfig, keep_original_weights=keep_original_weights,
    )  # fmt: skip


def convert_to_reference_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """The reference model: quantize, dequantize and float layers with rounded weights, for other backends.

    Args:
        graph_module (GraphModule): With observers. It stays as it is.
        convert_custom_config (ConvertCustomConfig or dict, optional): Exceptions.
        _remove_qconfig (bool): Whether configurations are removed.
        qconfig_mapping (QConfigMapping or dict, optional): None for an entry leaves that part in floating numbers.
        backend_config (BackendConfig or dict, optional): The backend, by default the native one.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> x = tl_core.rand(16, 4)
        >>> prepared = prepare_fx(nn.Sequential(nn.Linear(4, 2)).eval(), tq.get_default_qconfig_mapping("x86"), (x,))
        >>> _ = prepared(x)
        >>> getattr(convert_to_reference_fx(prepared), "0")
        QuantizedLinear(Reference)(in_features=4, out_features=2, bias=True)
    """
    return _convert(
        graph_module,
        True,
        convert_custom_config,
        qconfig_mapping,
        backend_config,
        remove_qconfig=_remove_qconfig,
    )


def _convert_to_reference_decomposed_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    return _convert(
        graph_module, True, convert_custom_config, qconfig_mapping, backend_config, is_decomposed=True,
        remove_qconfig=False,
    )  # fmt: skip

"""Quantization of exported models: `prepare_pt2e`, `prepare_qat_pt2e` and `convert_pt2e`."""

from __future__ import annotations

import warnings
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_core.base import backend_registry

from .export import register_passes
from .export.constant_fold import constant_fold
from .export.convert import convert
from .export.duplicate_dq_pass import DuplicateDQPass
from .export.fold_qat import fold_conv_bn_qat
from .export.fuse_conv_bn import fuse_conv_bn
from .export.fuse_qat import fuse_conv_bn_qat
from .export.graph_facts import has_annotation, is_call, quantize_ops
from .export.modes import refuse_train_eval
from .export.port_metadata_pass import PortNodeMetaForQDQ
from .export.prepare import prepare
from .export.reference import use_integer_arithmetic
from .graph.quantize_fx import _convert_to_reference_decomposed_fx as _convert_to_reference_decomposed_fx
from .quantizer.quantizer import Quantizer

__all__ = ["convert_pt2e", "prepare_pt2e", "prepare_qat_pt2e"]

backend_registry.register("graph pass of quantized_decomposed", register_passes)


def prepare_pt2e(model: GraphModule, quantizer: Quantizer) -> GraphModule:
    """A model with observers, for calibration.

    Batch normalization is folded into convolutions. The quantizer then annotates the graph.

    Args:
        model: a model of `export_for_training(...).module()`. It changes.
        quantizer: the quantizer of the backend.

    Returns:
        The model to run on data, and to give to `convert_pt2e`.

    Warns:
        UserWarning: the quantizer has annotated no node.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
        >>> x = tl_core.rand(8, 4)
        >>> net = nn.Linear(4, 2).eval()
        >>> quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
        >>> observed = prepare_pt2e(export_for_training(net, (x,)).module(), quantizer)
        >>> _ = observed(x)
        >>> integers = convert_pt2e(observed)
        >>> float((integers(x) - net(x)).abs().max()) < 0.05
        True
    """
    _check_exported(model)
    meta, scopes = dict(model.meta), _scopes(model)
    fuse_conv_bn(model)
    model = _annotate(model, quantizer)
    model = prepare(model, scopes, False, quantizer.prepare_obs_or_fq_callback)
    model.meta.update(meta)
    return refuse_train_eval(model)


def prepare_qat_pt2e(model: GraphModule, quantizer: Quantizer) -> GraphModule:
    """A model with fake quantization, for training.

    Batch normalization behind a convolution stays, and the weight is rounded as it will be with the folded norm.

    Args:
        model: a model of `export_for_training(...).module()`, exported in training. It changes.
        quantizer: the quantizer of the backend, with a configuration for training.

    Returns:
        The model to train, and to give to `convert_pt2e`.

    Warns:
        UserWarning: the quantizer has annotated no node.
    """
    _check_exported(model)
    meta, scopes = dict(model.meta), _scopes(model)
    model = _annotate(model, quantizer)
    fuse_conv_bn_qat(model)
    model = prepare(model, scopes, True, quantizer.prepare_obs_or_fq_callback)
    model.meta.update(meta)
    return refuse_train_eval(model)


def _check_exported(model: Any) -> None:
    if not isinstance(model, GraphModule):
        raise TypeError(
            f"model must be a graph module of export_for_training(...).module(), but got {type(model).__name__}"
        )


def _annotate(model: GraphModule, quantizer: Quantizer) -> GraphModule:
    model = quantizer.transform_for_annotation(model)
    quantizer.annotate(model)
    quantizer.validate(model)
    if not any(map(has_annotation, model.graph.nodes)):
        calls = sorted({str(node.target) for node in model.graph.nodes if node.op == "call_function"})
        warnings.warn(
            f"{type(quantizer).__name__} has annotated no node, so the model stays in floating numbers. Its "
            f"configuration fits none of the operators {', '.join(calls) or '(none)'}. Set a configuration with "
            "set_global, or check that the model was exported with export_for_training.",
            stacklevel=3,
        )
    return model


def _scopes(model: GraphModule) -> dict[str, tuple[str, Any]]:
    """The module of each node, the innermost one."""
    table: dict[str, tuple[str, Any]] = {}
    for node in model.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        table[node.name] = tuple(list(stack.values())[-1]) if stack else ("", type(None))
    return table


def _is_quantize(node: Node) -> bool:
    return is_call(node, quantize_ops())


def convert_pt2e(
    model: GraphModule, use_reference_representation: bool = False, fold_quantize: bool = True
) -> GraphModule:
    """A model with `quantize` and `dequantize` operators in place of observers.

    Args:
        model: a calibrated model of `prepare_pt2e`, or a trained one of `prepare_qat_pt2e`.
        use_reference_representation: whether operators between dequantize and quantize become integer arithmetic.
        fold_quantize: whether weights are stored as integers.

    Returns:
        The quantized model. `torch.compile` runs it with integer kernels.

    Raises:
        ValueError: If an argument isn't a bool, or the model has no observers.
    """
    for name, value in (
        ("use_reference_representation", use_reference_representation),
        ("fold_quantize", fold_quantize),
    ):
        if not isinstance(value, bool):
            raise ValueError(
                f"Unexpected argument type for `{name}`, please make sure you intend to pass argument {value} to "
                "convert_pt2e"
            )
    meta = {key: value for key, value in model.meta.items() if not key.startswith("_exported_model")}
    model = convert(model)
    model = fold_conv_bn_qat(model)
    DuplicateDQPass()(model)
    PortNodeMetaForQDQ()(model)
    if fold_quantize:
        constant_fold(model, _is_quantize)
    if use_reference_representation:
        model = use_integer_arithmetic(model)
    model.meta.update(meta)
    return refuse_train_eval(model)

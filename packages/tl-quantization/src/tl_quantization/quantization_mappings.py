"""Tables of the layers that replace float layers."""

from __future__ import annotations

from copy import copy
from typing import Any

import tl_nn as nn

from .fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from .nn import intrinsic as nni
from .nn import qat as nnqat
from .nn import quantizable as nnqa
from .nn import quantized as nnq
from .nn.intrinsic import qat as nniqat
from .nn.intrinsic import quantized as nniq
from .nn.intrinsic.quantized import dynamic as nniqd
from .nn.quantized import dynamic as nnqd
from .nn.quantized import reference as nnqr
from .nn.sparse import quantized as nnsq
from .stubs import DeQuantStub, QuantStub

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS",
    "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings",
    "get_default_dynamic_sparse_quant_module_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_default_static_quant_reference_module_mappings",
    "get_default_static_sparse_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings",
    "get_static_quant_module_class",
    "no_observer_set",
]

Mapping = dict[Any, Any]

#: Linear layers to those whose weights are zero in blocks.
DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS: Mapping = {nn.Linear: nnsq.Linear}
DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS: Mapping = {nn.Linear: nnsq.dynamic.Linear}

#: Observed layers, and layers trained with rounding, to layers of quantized tensors.
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: Mapping = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    nn.BatchNorm2d: nnq.BatchNorm2d,
    nn.BatchNorm3d: nnq.BatchNorm3d,
    nn.Conv1d: nnq.Conv1d,
    nn.Conv2d: nnq.Conv2d,
    nn.Conv3d: nnq.Conv3d,
    nn.ConvTranspose1d: nnq.ConvTranspose1d,
    nn.ConvTranspose2d: nnq.ConvTranspose2d,
    nn.ConvTranspose3d: nnq.ConvTranspose3d,
    nn.Dropout: nnq.Dropout,
    nn.ELU: nnq.ELU,
    nn.Embedding: nnq.Embedding,
    nn.EmbeddingBag: nnq.EmbeddingBag,
    nn.GroupNorm: nnq.GroupNorm,
    nn.Hardswish: nnq.Hardswish,
    nn.InstanceNorm1d: nnq.InstanceNorm1d,
    nn.InstanceNorm2d: nnq.InstanceNorm2d,
    nn.InstanceNorm3d: nnq.InstanceNorm3d,
    nn.LayerNorm: nnq.LayerNorm,
    nn.LeakyReLU: nnq.LeakyReLU,
    nn.Linear: nnq.Linear,
    nn.PReLU: nnq.PReLU,
    nn.ReLU6: nnq.ReLU6,
    nn.Softmax: nnq.Softmax,
    nnq.FloatFunctional: nnq.QFunctional,
    nni.BNReLU2d: nniq.BNReLU2d,
    nni.BNReLU3d: nniq.BNReLU3d,
    nni.ConvReLU1d: nniq.ConvReLU1d,
    nni.ConvReLU2d: nniq.ConvReLU2d,
    nni.ConvReLU3d: nniq.ConvReLU3d,
    nni.ConvAdd2d: nniq.ConvAdd2d,
    nni.ConvAddReLU2d: nniq.ConvAddReLU2d,
    nni.LinearReLU: nniq.LinearReLU,
    nni.LinearLeakyReLU: nniq.LinearLeakyReLU,
    nni.LinearTanh: nniq.LinearTanh,
    nniqat.ConvBn1d: nnq.Conv1d,
    nniqat.ConvBn2d: nnq.Conv2d,
    nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nniq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nniq.ConvReLU2d,
    nniqat.ConvBnReLU3d: nniq.ConvReLU3d,
    nniqat.ConvReLU1d: nniq.ConvReLU1d,
    nniqat.ConvReLU2d: nniq.ConvReLU2d,
    nniqat.ConvReLU3d: nniq.ConvReLU3d,
    nniqat.LinearReLU: nniq.LinearReLU,
    nniqat.LinearBn1d: nnq.Linear,
    nnqat.Linear: nnq.Linear,
    nnqat.Conv1d: nnq.Conv1d,
    nnqat.Conv2d: nnq.Conv2d,
    nnqat.Conv3d: nnq.Conv3d,
    nnqat.Embedding: nnq.Embedding,
    nnqat.EmbeddingBag: nnq.EmbeddingBag,
    nnqa.LSTM: nnq.LSTM,
    nnqa.MultiheadAttention: nnq.MultiheadAttention,
}

#: Float layers to float layers with rounded weights.
DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS: Mapping = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **{
        getattr(nn, name): getattr(nnqr, name)
        for name in (
            "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding",
            "EmbeddingBag", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell",
        )
    },
}  # fmt: skip

#: Float layers to layers that round in training.
DEFAULT_QAT_MODULE_MAPPINGS: Mapping = {
    nn.Conv2d: nnqat.Conv2d,
    nn.Conv3d: nnqat.Conv3d,
    nn.Linear: nnqat.Linear,
    nn.Embedding: nnqat.Embedding,
    nn.EmbeddingBag: nnqat.EmbeddingBag,
    nni.ConvBn1d: nniqat.ConvBn1d,
    nni.ConvBn2d: nniqat.ConvBn2d,
    nni.ConvBn3d: nniqat.ConvBn3d,
    nni.ConvBnReLU1d: nniqat.ConvBnReLU1d,
    nni.ConvBnReLU2d: nniqat.ConvBnReLU2d,
    nni.ConvBnReLU3d: nniqat.ConvBnReLU3d,
    nni.ConvReLU1d: nniqat.ConvReLU1d,
    nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d,
    nni.LinearReLU: nniqat.LinearReLU,
    nni.LinearBn1d: nniqat.LinearBn1d,
}

#: Float layers to layers that quantize their input at each call.
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: Mapping = {
    nn.Linear: nnqd.Linear,
    nn.LSTM: nnqd.LSTM,
    nn.GRU: nnqd.GRU,
    nn.LSTMCell: nnqd.LSTMCell,
    nn.GRUCell: nnqd.GRUCell,
    nn.RNNCell: nnqd.RNNCell,
    nni.LinearReLU: nniqd.LinearReLU,
    nn.Embedding: nnq.Embedding,
    nn.EmbeddingBag: nnq.EmbeddingBag,
}

#: Float layers that `prepare` replaces by ones made of parts that can be observed.
FLOAT_TO_OBSERVED: Mapping = {nn.LSTM: nnqa.LSTM, nn.MultiheadAttention: nnqa.MultiheadAttention}

#: Layers whose results have a range that is known.
DEFAULT_MODULE_TO_ACT_POST_PROCESS: Mapping = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def no_observer_set() -> set[Any]:
    """Layers whose results aren't observed.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> len(tq.no_observer_set()) > 0
        True
    """
    return {nnqa.LSTM, nnqa.MultiheadAttention, nn.Dropout}


def get_default_static_quant_module_mappings() -> Mapping:
    """A copy of the table for `convert`.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_default_static_quant_module_mappings()[tl_nn.Linear].__name__
        'Linear'
    """
    return copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_static_quant_reference_module_mappings() -> Mapping:
    """A copy of the table for `convert` with `is_reference=True`.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.quantization_mappings import get_default_static_quant_reference_module_mappings
        >>> get_default_static_quant_reference_module_mappings()[tl_nn.Linear].__module__.split(".")[-3]
        'reference'
    """
    return copy(DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> Mapping:
    """The table of `convert`, with embeddings of training.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.quantization_mappings import get_embedding_static_quant_module_mappings
        >>> get_embedding_static_quant_module_mappings()[tl_nn.Embedding].__name__
        'Embedding'
    """
    return get_default_static_quant_module_mappings()


def get_embedding_qat_module_mappings() -> Mapping:
    """The table of `prepare_qat`, with embeddings.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.quantization_mappings import get_embedding_qat_module_mappings
        >>> get_embedding_qat_module_mappings()[tl_nn.EmbeddingBag].__name__
        'EmbeddingBag'
    """
    return get_default_qat_module_mappings()


def get_default_dynamic_quant_module_mappings() -> Mapping:
    """A copy of the table for `quantize_dynamic`.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_default_dynamic_quant_module_mappings()[tl_nn.Linear].__name__
        'Linear'
    """
    return copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_static_sparse_quant_module_mappings() -> Mapping:
    """A copy of the table for `convert` of models whose weights are zero in blocks.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_default_static_sparse_quant_module_mappings()[tl_nn.Linear].__module__
        'tl_quantization.nn.sparse.quantized.linear'
    """
    return copy(DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS)


def get_default_dynamic_sparse_quant_module_mappings() -> Mapping:
    """A copy of the table for `convert` of models with zeros in blocks, whose layers quantize their input.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_default_dynamic_sparse_quant_module_mappings()[tl_nn.Linear].__module__
        'tl_quantization.nn.sparse.quantized.dynamic.linear'
    """
    return copy(DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> Mapping:
    """A copy of the table for `prepare_qat`.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tl_nn.Linear in tq.get_default_qat_module_mappings()
        True
    """
    return copy(DEFAULT_QAT_MODULE_MAPPINGS)


def _tables() -> tuple[Mapping, ...]:
    return (
        DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        DEFAULT_QAT_MODULE_MAPPINGS,
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    )


def get_default_qconfig_propagation_list() -> set[Any]:
    """The layers that get a configuration and, by `prepare`, an observer.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tl_nn.Linear in tq.get_default_qconfig_propagation_list()
        True
    """
    return {kind for table in _tables() for kind in table} | set(DEFAULT_QAT_MODULE_MAPPINGS.values())


def get_default_compare_output_module_list() -> set[Any]:
    """The layers whose results the numeric suite compares: those of the tables, float and quantized.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tl_nn.Linear in tq.get_default_compare_output_module_list()
        True
    """
    return {kind for table in _tables() for pair in table.items() for kind in pair}


def _class_of(table: Mapping, more: Mapping | None, kind: Any) -> Any:
    quantized_class = (table | (more or {})).get(kind)
    if quantized_class is None:
        raise AssertionError(
            f"Floating point module class {kind} does not have a corresponding quantized class"
        )
    return quantized_class


def get_static_quant_module_class(
    float_module_class: Any,
    additional_static_quant_mapping: Mapping | None = None,
    is_reference: bool = False,
) -> Any:
    """The class of quantized tensors for a float class. Raises AssertionError if the tables have no entry.

    Args:
        float_module_class: the float class.
        additional_static_quant_mapping: further classes, by float class.
        is_reference: whether the class that computes with floats is wanted.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_static_quant_module_class(tl_nn.Conv2d).__name__
        'Conv2d'
    """
    table = (
        DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS
        if is_reference
        else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
    )
    return _class_of(table, additional_static_quant_mapping, float_module_class)


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: Mapping | None = None
) -> Any:
    """The class that quantizes its input at each call, by float class. Raises AssertionError without an entry.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_dynamic_quant_module_class(tl_nn.LSTM).__name__
        'LSTM'
    """
    return _class_of(
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping, float_module_class
    )

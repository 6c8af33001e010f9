"""A quantizer of the weights of embeddings."""

from __future__ import annotations

import copy
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule
from tl_core.operators import packets

from ..dtypes import per_channel_affine_float_qparams
from ..observer import PerChannelMinMaxObserver
from .configurations import OperatorConfig, QuantizationConfig
from .quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

__all__ = ["EmbeddingQuantizer", "get_embedding_operators_config"]


def get_embedding_operators_config() -> OperatorConfig:
    """The configuration of embeddings: weights of 8 bits with a floating scale for each row.

    Example:
        >>> get_embedding_operators_config().config.weight.ch_axis
        0
    """
    weight = QuantizationSpec(
        dtype=tl_core.uint8,
        qscheme=per_channel_affine_float_qparams,
        ch_axis=0,
        observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=2**-12),
    )
    return OperatorConfig(QuantizationConfig(None, None, weight, None), [[nn.Embedding]])


class EmbeddingQuantizer(Quantizer):
    """Quantizes the weights of embeddings.

    Example:
        >>> [config.weight.qscheme for config in EmbeddingQuantizer.get_supported_quantization_configs()]
        [torch.per_channel_affine_float_qparams]
    """

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """The configurations that the quantizer has operators for."""
        return [get_embedding_operators_config().config]

    @classmethod
    def get_supported_operator_for_quantization_config(cls, quantization_config: Any) -> list[list[Any]]:
        """The operators of a configuration.

        Args:
            quantization_config: the configuration.
        """
        config, operators = get_embedding_operators_config()
        return copy.deepcopy(operators) if config == quantization_config else []

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes annotations to calls of `embedding`."""
        for node in model.graph.nodes:
            if node.op != "call_function" or node.target is not packets.aten.embedding.default:
                continue
            config = get_embedding_operators_config().config
            if config.weight is None:
                raise ValueError("Embedding config must have a valid weight quantization spec.")
            node.meta["quantization_annotation"] = QuantizationAnnotation(
                input_qspec_map={node.args[0]: config.weight}
            )
        return model

    def validate(self, model: GraphModule) -> None:
        """All models are valid."""

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """The operators with their configurations."""
        return [get_embedding_operators_config()]

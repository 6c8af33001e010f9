"""A quantizer of several quantizers, each for a part of a model."""

from __future__ import annotations

from collections.abc import Sequence

from tl_compiler.fx import GraphModule, Node

from .quantizer import QuantizationAnnotation, Quantizer

__all__ = ["ComposableQuantizer"]


class ComposableQuantizer(Quantizer):
    """Applies quantizers one after another. A quantizer must keep the annotations of those before it.

    Args:
        quantizers: the quantizers, the first one first.

    Example:
        >>> from tl_quantization.quantizer.embedding_quantizer import EmbeddingQuantizer
        >>> len(ComposableQuantizer([EmbeddingQuantizer()]).quantizers)
        1
    """

    def __init__(self, quantizers: Sequence[Quantizer]) -> None:
        super().__init__()
        self.quantizers = list(quantizers)
        self._graph_annotations: dict[Node, QuantizationAnnotation] = {}

    def _record_and_validate_annotations(self, gm: GraphModule, quantizer: Quantizer) -> None:
        for node in gm.graph.nodes:
            if "quantization_annotation" not in node.meta:
                if node in self._graph_annotations:
                    raise RuntimeError(
                        f"Quantizer {quantizer.__class__.__name__} has removed annotations on node {node}"
                    )
                continue
            annotation = node.meta["quantization_annotation"]
            if self._graph_annotations.get(node, annotation) is not annotation:
                raise RuntimeError(
                    f"Quantizer {quantizer.__class__.__name__} has changed annotations on node {node}"
                )
            self._graph_annotations[node] = annotation

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Applies the transformations of all quantizers."""
        for quantizer in self.quantizers:
            model = quantizer.transform_for_annotation(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes the annotations of all quantizers.

        Raises:
            RuntimeError: a quantizer has removed or changed the annotation of another one.
        """
        for quantizer in self.quantizers:
            quantizer.annotate(model)
            self._record_and_validate_annotations(model, quantizer)
        return model

    def validate(self, model: GraphModule) -> None:
        """Calls `validate` of all quantizers."""
        for quantizer in self.quantizers:
            quantizer.validate(model)

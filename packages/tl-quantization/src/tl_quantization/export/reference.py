"""The representation of quantized models as integer arithmetic."""

from __future__ import annotations

from tl_compiler.fx import GraphModule

__all__ = ["use_integer_arithmetic"]


def use_integer_arithmetic(model: GraphModule) -> GraphModule:
    """Raises an error that names the missing representation.

    Args:
        model: a model with quantize and dequantize.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "convert_pt2e(use_reference_representation=True): the representation as integer arithmetic isn't in tl. Leave "
        "the argument out; tl_quantization.export.lowering.lower_to_integers runs layers on integer kernels."
    )

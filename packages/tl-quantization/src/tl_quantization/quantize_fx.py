"""The functions of the graph mode."""

from .graph.quantize_fx import (
    _convert_to_reference_decomposed_fx as _convert_to_reference_decomposed_fx,
)
from .graph.quantize_fx import convert_fx, convert_to_reference_fx, fuse_fx, prepare_fx, prepare_qat_fx

__all__ = ["convert_fx", "convert_to_reference_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]

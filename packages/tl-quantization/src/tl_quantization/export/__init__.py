"""Models of `export_for_training` with integers: observers in the graph, then quantize and dequantize."""

from importlib import import_module

__all__ = ["register_passes"]


def register_passes() -> None:
    """Registers the passes that `compile` runs over models of `convert_pt2e`.

    Example:
        >>> from tl_compiler.compiler.graph_passes import _passes
        >>> register_passes()
        >>> "quantized_decomposed" in _passes
        True
    """
    import_module(f"{__name__}.lowering")

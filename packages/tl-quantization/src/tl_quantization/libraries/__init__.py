"""Operators in namespaces of their own: `quantized::`, `_quantized::`, `quantized_decomposed::`, `onednn::`."""

from importlib import import_module

__all__ = ["load_all"]


def load_all() -> None:
    """Defines the operators.

    Example:
        >>> load_all()
        >>> from tl_core.operators import packets
        >>> packets.quantized.linear
        <OpOverloadPacket(op='quantized.linear')>
    """
    for name in (
        "pointwise",
        "linear",
        "convolution",
        "embedding",
        "decomposed",
        "onednn",
        "recurrent",
        "sparse",
    ):
        import_module(f"{__name__}.{name}")

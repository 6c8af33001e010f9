"""What ONNX files say otherwise than functions do: the order of paddings."""

from __future__ import annotations

from collections.abc import Sequence

__all__: list[str] = []


def _prepare_onnx_paddings(dim: int, pad: Sequence[int]) -> list[int]:
    """Paddings in ONNX's order: what is added before each dimension, then what is added after each.

    Args:
        dim: how many dimensions there are.
        pad: pairs of them, the last dimension first, as `nn.functional.pad` takes them.

    Example:
        >>> _prepare_onnx_paddings(3, [1, 2, 3, 4])
        [0, 3, 1, 0, 4, 2]
    """
    if len(pad) % 2 or len(pad) > 2 * dim:
        raise ValueError(f"expected up to {dim} pairs of paddings, got {list(pad)}")
    whole = [*pad, *[0] * (2 * dim - len(pad))]
    return whole[-2::-2] + whole[-1::-2]

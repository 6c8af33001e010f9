"""Differences between ONNX and functions: the order of paddings."""

from __future__ import annotations

from collections.abc import Sequence

__all__: list[str] = []


def _prepare_onnx_paddings(dim: int, pad: Sequence[int]) -> list[int]:
    """Paddings in ONNX's order: the begins of all dimensions, then the ends.

    Args:
        dim: number of dimensions.
        pad: pairs of begin and end, the last dimension first, as in `nn.functional.pad`.

    Example:
        >>> _prepare_onnx_paddings(3, [1, 2, 3, 4])
        [0, 3, 1, 0, 4, 2]
    """
    if len(pad) % 2 or len(pad) > 2 * dim:
        raise ValueError(f"expected up to {dim} pairs of paddings, got {list(pad)}")
    padding = [*pad, *[0] * (2 * dim - len(pad))]
    return padding[-2::-2] + padding[-1::-2]

"""`sparse::` operators of linear layers whose weight is zero in blocks. The products compute with the zeros, too."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ..nn.sparse.quantized.utils import check_blocks
from ..packed.linear import PackedLinear
from .registry import define, quantized_input

__all__: list[str] = []


class _SparseLinear(PackedLinear):
    """A packed weight and the size of its blocks.

    Args:
        weight: the weight, of qint8.
        bias: the bias, or None.
        blocks: the rows and columns of a block.
    """

    __slots__ = ("blocks",)

    def __init__(self, weight: Tensor, bias: Tensor | None, blocks: tuple[int, int]) -> None:
        super().__init__(weight, bias)
        self.blocks = blocks

    def __reduce__(self) -> tuple[Any, ...]:
        return _SparseLinear, (*self.unpack(), self.blocks)


def _prepack(
    W: Any, B: Tensor | None, out_features_block_size: int, in_features_block_size: int
) -> _SparseLinear:
    check_blocks(out_features_block_size, in_features_block_size)
    return _SparseLinear(
        quantized_input(W, "qlinear_prepack"), B, (out_features_block_size, in_features_block_size)
    )


def _static(relu: bool) -> Any:
    def call(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
        return W_prepack.of_bytes(quantized_input(X, "qlinear"), float(Y_scale_i), int(Y_zero_point_i), relu)

    return call


def _dynamic(relu: bool) -> Any:
    def call(X: Tensor, W_prepack: Any) -> Tensor:
        return W_prepack.of_floats(X, False, relu)

    return call


def _unpack(W_prepack: Any) -> tuple[Any, Any, list[int]]:
    return *W_prepack.unpack(), list(W_prepack.blocks)


_STATIC = "Tensor X, %SparseLinear W_prepack, float Y_scale_i, int Y_zero_point_i"
define(
    "sparse",
    {
        "qlinear_prepack(Tensor W, Tensor? B, int out_features_block_size, int in_features_block_size) -> "
        "%SparseLinear W_prepack": _prepack,
        "qlinear_unpack(%SparseLinear W_prepack) -> (Tensor W_origin, Tensor? B_origin, int[] block_pattern)": _unpack,
        f"qlinear({_STATIC}) -> Tensor Y": _static(False),
        f"qlinear_relu({_STATIC}) -> Tensor Y": _static(True),
        "qlinear_dynamic(Tensor X, %SparseLinear W_prepack) -> Tensor Y": _dynamic(False),
        "qlinear_relu_dynamic(Tensor X, %SparseLinear W_prepack) -> Tensor Y": _dynamic(True),
    },
)

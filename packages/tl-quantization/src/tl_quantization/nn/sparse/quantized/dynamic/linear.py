"""A linear layer with a weight of integers that is zero in blocks, which quantizes its input at each call."""

from __future__ import annotations

from ....quantized.dynamic.modules import linear as dense
from ..linear import SparseLinear

__all__ = ["Linear"]


class Linear(SparseLinear, dense.Linear):
    """`x @ weight.T + bias` of floating numbers, with a weight of integers that is zero in blocks.

    The blocks are part of the state. The kernels are those of dense weights.

    Args:
        in_features: the size of the input.
        out_features: the size of the result.
        row_block_size: the rows of a block.
        col_block_size: the columns of a block.
        bias: whether there is a bias.
        dtype: `qint8`.

    Raises:
        NotImplementedError: another type.

    Example:
        >>> import tl_core
        >>> Linear(8, 4, 8, 1)(tl_core.ones(2, 8)).shape
        torch.Size([2, 4])
    """

    def _get_name(self) -> str:
        return "SparseQuantizedDynamicLinear"

"""A linear layer with a weight of integers that is zero in blocks, which quantizes its input at each call."""

from __future__ import annotations

from typing import Any

from .....dtypes import qint8
from ....quantized.dynamic.modules import linear as dense
from ..linear import _SparseLinear

__all__ = ["Linear"]


class Linear(_SparseLinear, dense.Linear):
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

    _version = 1

    def __init__(
        self,
        in_features: int,
        out_features: int,
        row_block_size: int,
        col_block_size: int,
        bias: bool = True,
        dtype: Any = qint8,
    ) -> None:
        dense.Linear.__init__(self, in_features, out_features, bias_=bias)
        self._prepare(in_features, out_features, (row_block_size, col_block_size), bias, dtype)

    def _get_name(self) -> str:
        return "SparseQuantizedDynamicLinear"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear` with zeros in blocks.

        Args:
            mod: the layer, with `sparse_params` of `squash_mask` and a `qconfig`.
            use_precomputed_fake_quant: whether to use the scales of training.
        """
        return cls._adopt(mod, getattr(mod, "qconfig", None), use_precomputed_fake_quant)

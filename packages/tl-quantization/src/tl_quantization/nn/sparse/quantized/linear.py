"""A linear layer of integers with a weight that is zero in blocks."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor

from ....dtypes import qint8
from ....tensor import quantizer_of
from ...quantized.modules import linear as dense
from ...quantized.modules.utils import empty_weight, observed_qparams, observed_weight
from .utils import check_blocks

__all__ = ["Linear", "LinearPackedParams"]


class LinearPackedParams(dense.LinearPackedParams):
    """The weight, the bias and the size of the blocks of a linear layer. The weight is stored with its zeros.

    Args:
        row_block_size: the rows of a block.
        col_block_size: the columns of a block.
        dtype: `qint8`.

    Raises:
        NotImplementedError: another type.

    Example:
        >>> LinearPackedParams(8, 1).row_block_size
        8
    """

    _version = 1

    def __init__(self, row_block_size: int = 1, col_block_size: int = 4, dtype: Any = qint8) -> None:
        if dtype is not qint8:
            raise NotImplementedError(f"Linear prepacking only supports QINT8, but dtype is {dtype}")
        self.row_block_size, self.col_block_size = row_block_size, col_block_size
        super().__init__(dtype)

    def set_weight_bias(
        self,
        weight: Any,
        bias: Tensor | None,
        row_block_size: int | None = None,
        col_block_size: int | None = None,
    ) -> None:
        """Replaces weight and bias.

        Args:
            weight: the weight, of `qint8`.
            bias: the bias, or None.
            row_block_size: the rows of a block. None leaves the former.
            col_block_size: the columns of a block.
        """
        rows = self.row_block_size if row_block_size is None else row_block_size
        columns = self.col_block_size if col_block_size is None else col_block_size
        check_blocks(rows, columns)
        super().set_weight_bias(weight, bias)
        self.row_block_size, self.col_block_size = rows, columns

    def _weight_bias(self) -> tuple[Any, ...]:
        """The weight, the bias, and the rows and columns of a block."""
        return *super()._weight_bias(), self.row_block_size, self.col_block_size

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight, bias = destination.pop(prefix + "_packed_params")
        destination[prefix + "_packed_params"] = (weight, bias, self.row_block_size, self.col_block_size)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        entry = state_dict.get(prefix + "_packed_params")
        if entry is not None and len(entry) == 4:
            weight, bias, self.row_block_size, self.col_block_size = entry
            state_dict[prefix + "_packed_params"] = weight, bias
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _blocks_of(mod: Any) -> tuple[int, int]:
    """The size of the blocks that `squash_mask` has stored in a float layer."""
    if not hasattr(mod, "sparse_params"):
        raise AssertionError(
            "the layer must have sparse_params; call squash_mask of the sparsifier with "
            'params_to_save=("sparse_block_shape",)'
        )
    shape = mod.sparse_params.get("sparse_block_shape")
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise AssertionError(f"sparse_block_shape must be a pair of numbers, but got {shape}")
    return tuple(shape)


class SparseLinear:
    """The size of the blocks of a layer, before a dense layer among the bases of a class."""

    _FLOAT_MODULE = nn.Linear
    _version = 1
    _packed_params: Any

    def __init__(
        self,
        in_features: int,
        out_features: int,
        row_block_size: int,
        col_block_size: int,
        bias: bool = True,
        dtype: Any = qint8,
    ) -> None:
        super().__init__(in_features, out_features, bias_=bias)  # type: ignore[call-arg]  # of the dense layer
        blocks = row_block_size, col_block_size
        if dtype is not qint8:
            raise NotImplementedError(
                f"Only QINT8 is supported for Sparse Quantized Linear, but dtype is {dtype}"
            )
        self._packed_params = LinearPackedParams(*blocks, dtype=dtype)
        weight = empty_weight((out_features, in_features), qint8)
        self._packed_params.set_weight_bias(weight, tl_core.zeros(out_features) if bias else None, *blocks)

    def _weight_bias(self) -> tuple[Any, ...]:
        return tuple(self._packed_params._weight_bias())

    def set_weight_bias(
        self, w: Any, b: Tensor | None, row_block_size: int | None = None, col_block_size: int | None = None
    ) -> None:
        """Replaces weight and bias.

        Args:
            w: the weight, of `qint8`.
            b: the bias, or None.
            row_block_size: the rows of a block.
            col_block_size: the columns of a block.

        Raises:
            AssertionError: the size of the blocks isn't 1 by 4 or 8 by 1.
        """
        if not isinstance(self._packed_params, LinearPackedParams):  # the dense layer is under construction
            self._packed_params.set_weight_bias(w, b)
            return
        check_blocks(row_block_size, col_block_size)
        self._packed_params.set_weight_bias(w, b, row_block_size, col_block_size)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear` with zeros in blocks.

        Args:
            mod: the layer, with `sparse_params` of `squash_mask` and a `qconfig`.
            use_precomputed_fake_quant: whether to use the scales of training.

        Raises:
            AssertionError: `mod` is another layer, or its `sparse_params` or `qconfig` is missing.
        """
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"from_float takes a {cls._FLOAT_MODULE.__name__}, but got {type(mod).__name__}"
            )
        blocks = _blocks_of(mod)
        if getattr(mod, "qconfig", None) is None:
            raise AssertionError("Input float module must have qconfig defined")
        weight = observed_weight(mod, mod.weight, use_precomputed_fake_quant)
        quantizer = quantizer_of(weight)
        zeros = getattr(quantizer, "zero_points", getattr(quantizer, "zero_point", 0))
        if bool(tl_core.as_tensor(zeros).any()):
            raise AssertionError("All weight zero points must map to 0")
        layer = cls(mod.in_features, mod.out_features, *blocks)
        layer.set_weight_bias(weight, mod.bias, *blocks)
        return layer


class Linear(SparseLinear, dense.Linear):
    """`x @ weight.T + bias` of quantized tensors, with a weight that is zero in blocks.

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
        >>> Linear(8, 4, 1, 4)
        SparseQuantizedLinear(in_features=8, out_features=4, scale=1.0, zero_point=0, qscheme=torch.per_tensor_affine)
    """

    def _get_name(self) -> str:
        return "SparseQuantizedLinear"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Linear` with zeros in blocks, which has been observed.

        Args:
            mod: the layer, with `sparse_params` of `squash_mask` and a `qconfig`.
            use_precomputed_fake_quant: whether to use the scales of training.
        """
        layer = super().from_float(mod, use_precomputed_fake_quant)
        layer.scale, layer.zero_point = observed_qparams(mod)
        return layer

"""Embeddings that keep a float table."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from .utils import ReferenceQuantizedModule

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(ReferenceQuantizedModule, nn.Embedding):
    """`tl_nn.Embedding` with rows of the rounded table.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the number of columns.
        padding_idx: the row that is not trained.
        max_norm: the largest norm of a row.
        norm_type: the kind of the norm.
        scale_grad_by_freq: whether gradients are divided by the rows' frequencies.
        sparse: whether gradients are sparse.
        _weight: the table.
        device: the device of the table.
        dtype: the type of the table.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the table.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.Embedding(10, 4)(tl_core.tensor([1, 2])).shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        nn.Embedding.__init__(
            self, num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            _weight, device=device, dtype=dtype,
        )  # fmt: skip
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self) -> str:
        return "QuantizedEmbedding(Reference)"

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the rounded table."""
        return F.embedding(
            input, self.get_weight(), self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: dict[str, Any]) -> Embedding:
        """The layer for a float one, with its table.

        Args:
            mod: the float layer.
            weight_qparams: how the table is quantized.
        """
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.sparse, mod.weight.detach(), weight_qparams=weight_qparams,
        )  # fmt: skip


class EmbeddingBag(ReferenceQuantizedModule, nn.EmbeddingBag):
    """`tl_nn.EmbeddingBag` with rows of the rounded table.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the number of columns.
        max_norm: the largest norm of a row.
        norm_type: the kind of the norm.
        scale_grad_by_freq: whether gradients are divided by the rows' frequencies.
        mode: "sum", "mean" or "max".
        sparse: whether gradients are sparse.
        _weight: the table.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the row that is left out of the bags.
        device: the device of the table.
        dtype: the type of the table.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the table.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.EmbeddingBag(10, 4)(tl_core.tensor([[1, 2]])).shape
        torch.Size([1, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        nn.EmbeddingBag.__init__(
            self, num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight,
            include_last_offset, padding_idx, device=device, dtype=dtype,
        )  # fmt: skip
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self) -> str:
        return "QuantizedEmbedding(Reference)"

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """The bags of rows of the rounded table.

        Args:
            input: the rows' indices.
            offsets: the first positions of the bags.
            per_sample_weights: a factor for each index.
        """
        return F.embedding_bag(
            input, self.get_weight(), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(
        cls, mod: Any, weight_qparams: dict[str, Any], use_precomputed_fake_quant: bool = False
    ) -> EmbeddingBag:
        """The layer for a float one, with its table.

        Args:
            mod: the float layer.
            weight_qparams: how the table is quantized.
            use_precomputed_fake_quant: of no effect.
        """
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode,
            mod.sparse, mod.weight.detach(), mod.include_last_offset, mod.padding_idx,
            weight_qparams=weight_qparams,
        )  # fmt: skip

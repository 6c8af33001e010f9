"""Embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from .rounding import check_float, check_rows, needed_qconfig, share_parameters

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(nn.Embedding):
    """`tl_nn.Embedding` with rows that are rounded in training by `qconfig.weight`.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the size of a row.
        padding_idx: the row that gets no gradient.
        max_norm: the longest norm of a row. None means no limit.
        norm_type: the exponent of that norm.
        scale_grad_by_freq: whether gradients are divided by how often a row was taken.
        sparse: whether the gradient is sparse.
        device: where the parameters are made.
        dtype: the type of the parameters.
        qconfig: how rows are rounded.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import qat
        >>> layer = qat.Embedding(10, 4, qconfig=tq.default_embedding_qat_qconfig)
        >>> layer(tl_core.tensor([1, 2])).shape
        torch.Size([2, 4])
    """

    _FLOAT_MODULE: Any = nn.Embedding

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        device: Any = None,
        dtype: Any = None,
        qconfig: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
            device=device, dtype=dtype,
        )  # fmt: skip
        self.qconfig = needed_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})
        check_rows("Embedding", self.weight_fake_quant)

    def forward(self, input: Tensor) -> Tensor:
        """The rounded rows at the indices."""
        return F.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `Embedding` that has a `qconfig`. Both share their rows."""
        check_float(cls, mod)
        module = cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.sparse, qconfig=mod.qconfig,
        )  # fmt: skip
        return share_parameters(module, mod)

    def to_float(self) -> nn.Embedding:
        """A `tl_nn.Embedding` with the rows as they are."""
        embedding = nn.Embedding(
            self.num_embeddings, self.embedding_dim, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip
        return share_parameters(embedding, self)


class EmbeddingBag(nn.EmbeddingBag):
    """`tl_nn.EmbeddingBag` with rows that are rounded in training by `qconfig.weight`.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the size of a row.
        max_norm: the longest norm of a row. None means no limit.
        norm_type: the exponent of that norm.
        scale_grad_by_freq: whether gradients are divided by how often a row was taken.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient is sparse.
        include_last_offset: whether the offsets end with the number of indices.
        padding_idx: the row that gets no gradient.
        qconfig: how rows are rounded.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import qat
        >>> layer = qat.EmbeddingBag(10, 4, mode="sum", qconfig=tq.default_embedding_qat_qconfig)
        >>> layer(tl_core.tensor([[1, 2]])).shape
        torch.Size([1, 4])
    """

    _FLOAT_MODULE: Any = nn.EmbeddingBag

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight,
            include_last_offset, padding_idx, device=device, dtype=dtype,
        )  # fmt: skip
        self.qconfig = needed_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})
        check_rows("Embedding Bag", self.weight_fake_quant)

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        """The sums, means or maxima of rounded rows."""
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset,
            self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float `EmbeddingBag` that has a `qconfig`. Both share their rows."""
        check_float(cls, mod)
        construct: Any = partial(cls, *_bag_settings(mod))
        return share_parameters(construct(qconfig=mod.qconfig), mod)

    def to_float(self) -> nn.EmbeddingBag:
        """A `tl_nn.EmbeddingBag` with the rows as they are."""
        return share_parameters(nn.EmbeddingBag(*_bag_settings(self)), self)


def _bag_settings(bag: Any) -> tuple[Any, ...]:
    return (
        bag.num_embeddings, bag.embedding_dim, bag.max_norm, bag.norm_type, bag.scale_grad_by_freq, bag.mode,
        bag.sparse, None, bag.include_last_offset, bag.padding_idx,
    )  # fmt: skip

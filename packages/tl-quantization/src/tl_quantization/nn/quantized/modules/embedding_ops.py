"""Embeddings with rows of integers, each with a scale and a zero point of its own."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module
from tl_nn import functional as F

from ....dtypes import quint4x2, quint8
from ....functions import quantize_per_channel
from ....packed.embedding import PackedEmbedding
from ....qconfig import float_qparams_weight_only_qconfig
from ....tensor import is_quantized_tensor
from .utils import numbers_of, pop_entries, quantized_weight, weight_observer

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]

_CODE_OF_4_BITS = 16  # of quint4x2 in TorchScript


class EmbeddingPackedParams(Module):
    """The table of an embedding, as one entry of its state.

    Args:
        num_embeddings, embedding_dim (int): Rows and columns.
        dtype (quantized dtype): `quint8` or `quint4x2`.

    Raises:
        NotImplementedError: If the type is another.

    Example:
        >>> EmbeddingPackedParams(10, 4)._weight().shape
        torch.Size([10, 4])
    """

    _version = 1

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = quint8) -> None:
        super().__init__()
        if dtype not in (quint8, quint4x2):
            raise NotImplementedError(f"dtype must be torch.quint8 or torch.quint4x2, but got {dtype}")
        self.dtype = dtype
        self.set_weight(_empty_rows(num_embeddings, embedding_dim, dtype))

    def set_weight(self, weight: Tensor) -> None:
        """Replaces the table."""
        self._packed_weight = PackedEmbedding(weight)
        self.dtype = weight.dtype

    def _weight(self) -> Tensor:
        return self._packed_weight.weight()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        """Reads the table and its type."""
        entries = pop_entries(state_dict, prefix, ("dtype", "_packed_weight"), missing)
        if entries is not None:
            shape, weight = tuple(self._weight().shape), entries[1]
            if is_quantized_tensor(weight) and tuple(weight.shape) == shape:
                self.set_weight(weight)
            else:
                size = f" of shape {tuple(weight.shape)}" if isinstance(weight, Tensor) else ""
                errors.append(
                    f"{prefix}_packed_weight must be a quantized tensor of shape {shape}, but got "
                    f"{type(weight).__name__}{size}"
                )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing, unexpected, errors)

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself."""
        return x

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(Module):
    """The rows of a table of integers, as floating numbers.

    Args:
        num_embeddings, embedding_dim (int): Rows and columns.
        padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: As of `tl_nn.Embedding`. Only shown in
            the representation, as the layer doesn't train.
        _weight (Tensor, optional): The table.
        dtype (quantized dtype): `quint8` or `quint4x2`.

    Raises:
        NotImplementedError: If the type is another.

    Example:
        >>> import tl_core
        >>> Embedding(10, 4)(tl_core.tensor([1, 2])).shape
        torch.Size([2, 4])
    """

    _SCRIPT_SOURCE = f"""
def forward(self, indices: Tensor) -> Tensor:
    weight = self._packed_params._packed_weight
    if self.dtype == {_CODE_OF_4_BITS}:
        return quantized.embedding_4bit(weight, indices)
    return quantized.embedding_byte(weight, indices)
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
        _weight: Any = None,
        dtype: Any = quint8,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            self.set_weight(_weight)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        scheme = self._packed_params._packed_weight.quantizer.scheme
        sizes = f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}"
        return f"{sizes}, dtype={self._packed_params.dtype}, qscheme={scheme}"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"  # not the numbers of the table

    def set_weight(self, w: Any) -> None:
        """Replaces the table. Raises ValueError if its shape is another."""
        shape = (self.num_embeddings, self.embedding_dim)
        if tuple(numbers_of(w).shape) != shape:
            raise ValueError(f"weight must have shape {shape}, but got {tuple(w.shape)}")
        self._packed_params.set_weight(w)
        self.dtype = self._packed_params.dtype

    def weight(self) -> Tensor:
        """The table, as a tensor of its own."""
        return self._packed_params._weight()

    def forward(self, indices: Tensor) -> Tensor:
        """The rows at the indices, as float32."""
        return self._packed_params._packed_weight.rows(indices)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, or one that was trained with rounding.

        Raises:
            AssertionError: If the configuration has no floating zero points.
        """
        table = _observed_rows(mod, use_precomputed_fake_quant)
        return cls(mod.num_embeddings, mod.embedding_dim, _weight=table, dtype=table.dtype)

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Any:
        """The layer for one that keeps a float table and how to quantize it (`get_quantized_weight()`)."""
        table = ref_embedding.get_quantized_weight()
        rows, columns = ref_embedding.num_embeddings, ref_embedding.embedding_dim
        return cls(rows, columns, _weight=table, dtype=table.dtype)


class EmbeddingBag(Embedding):
    """Sums, means or maxima of rows of a table of integers, as floating numbers.

    Args:
        num_embeddings, embedding_dim (int): Rows and columns.
        mode (str): "sum", "mean" or "max".
        include_last_offset (bool): Whether the last offset is the end of the last bag.
        max_norm, norm_type, scale_grad_by_freq, sparse: As of `tl_nn.EmbeddingBag`. Only shown in
            the representation, as the layer doesn't train.
        _weight (Tensor, optional): The table.
        dtype (quantized dtype): `quint8` or `quint4x2`.
    """

    _SCRIPT_SOURCE = f"""
def forward(self, indices: Tensor, offsets: Optional[Tensor]=None, per_sample_weights: Optional[Tensor]=None,
            compressed_indices_mapping: Optional[Tensor]=None) -> Tensor:
    weight = self._packed_params._packed_weight
    if self.mode == "max":
        raise RuntimeError("the mode max has no program")
    mode = 0 if self.mode == "sum" else 1
    if self.dtype == {_CODE_OF_4_BITS}:
        return quantized.embedding_bag_4bit(weight, indices, offsets, False, mode, self.pruned_weights,
                                            per_sample_weights, compressed_indices_mapping, self.include_last_offset)
    return quantized.embedding_bag_byte(weight, indices, offsets, False, mode, self.pruned_weights,
                                        per_sample_weights, compressed_indices_mapping, self.include_last_offset)
"""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        dtype: Any = quint8,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.include_last_offset, self.pruned_weights = mode, include_last_offset, False

    def forward(
        self,
        indices: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
    ) -> Tensor:
        """The bags, as float32. Raises ValueError for a mapping of pruned rows."""
        if compressed_indices_mapping is not None:
            raise ValueError("compressed_indices_mapping must be None: tables keep all their rows")
        if self.mode == "max":
            rows, numbers = (
                self._packed_params._packed_weight.rows(indices.flatten()),
                tl_core.arange(indices.numel()),
            )
            return F.embedding_bag(
                numbers.reshape(indices.shape), rows, offsets, mode="max", per_sample_weights=per_sample_weights,
                include_last_offset=self.include_last_offset,
            )  # fmt: skip
        return self._packed_params._packed_weight.bags(
            indices, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, or one that was trained with rounding."""
        table = _observed_rows(mod, use_precomputed_fake_quant)
        return cls(
            mod.num_embeddings, mod.embedding_dim, mode=mod.mode, include_last_offset=mod.include_last_offset,
            _weight=table, dtype=table.dtype,
        )  # fmt: skip

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Any:
        """The layer for one that keeps a float table and how to quantize it (`get_quantized_weight()`)."""
        table = ref_embedding.get_quantized_weight()
        return cls(
            ref_embedding.num_embeddings, ref_embedding.embedding_dim, mode=ref_embedding.mode,
            include_last_offset=ref_embedding.include_last_offset, _weight=table, dtype=table.dtype,
        )  # fmt: skip


def _empty_rows(rows: int, columns: int, dtype: Any) -> Tensor:
    zeros = tl_core.zeros(rows, columns)
    return quantize_per_channel(zeros, tl_core.ones(rows), tl_core.zeros(rows), 0, dtype)


def _observed_rows(mod: Any, precomputed: bool) -> Any:
    config = getattr(mod, "qconfig", None) or float_qparams_weight_only_qconfig
    observer = weight_observer(mod, mod.weight, config, precomputed)
    if "float_qparams" not in observer.qscheme.name:
        raise AssertionError(
            "an embedding's qconfig.weight must have floating zero points: per_channel_affine_float_qparams"
        )
    return quantized_weight(mod.weight, observer)

"""Lookup tables."""

from __future__ import annotations

from typing import Any, Self

import tl_core
from tl_core import Tensor, no_grad

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """Base class of lookup tables: the table, and the limit of the norm of its rows.

    Raises:
        AssertionError: If `padding_idx` isn't a row, or a given table has another shape.
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    weight: Tensor

    def _set_up(
        self,
        sizes: tuple[int, int],
        padding_idx: int | None,
        norm: tuple[float | None, float],
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        kind: dict[str, Any],
        requires_grad: bool = True,
    ) -> None:
        self.num_embeddings, self.embedding_dim = sizes
        self.padding_idx = _row(padding_idx, sizes[0])
        self.max_norm, self.norm_type = norm
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is None:
            self.weight = Parameter(tl_core.empty(sizes, **kind), requires_grad=requires_grad)
            self.reset_parameters()
            return
        if tuple(weight.shape) != sizes:
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: {list(weight.shape)} and {sizes}"
            )
        self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Draw the table from the standard normal distribution. The row of the padding is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    _shown: tuple[str, ...] = (
        "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    )  # fmt: skip

    def extra_repr(self) -> str:
        usual = {
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2,
            "scale_grad_by_freq": False,
            "sparse": False,
        }
        values = {name: getattr(self, name) for name in self._shown}
        settings = [f"{name}={value!r}" for name, value in values.items() if value != usual.get(name)]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *settings])


def _row(padding_idx: int | None, rows: int) -> int | None:
    """The row of the padding, counted from the beginning."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"padding_idx must be within num_embeddings, got {padding_idx} and {rows}")
    return padding_idx % rows


def _check_table(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError(
            f"Embeddings parameter is expected to be 2-dimensional, got shape {tuple(embeddings.shape)}"
        )
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(_Table):
    r"""A table of vectors, which are looked up by their numbers.

    Formula:
        .. math::

            y_{*, \, :} = W_{x_*, \, :}

        `W` is `weight`, and `x` contains row numbers.

    Args:
        num_embeddings (int): The number of rows of the table.
        embedding_dim (int): The size of a row.
        padding_idx (int, optional): A row that is 0 at first and gets no gradient. Negative numbers count from the
            end.
        max_norm (float, optional): Rows of a larger norm are scaled to this norm, in place, when they are looked
            up.
        norm_type (float): The exponent of that norm. The default is 2.
        scale_grad_by_freq (bool): Whether the gradient of a row is divided by the number of its look-ups in the
            batch. The default is False.
        sparse (bool): Whether the gradient is a sparse tensor of the looked-up rows: for `SGD`, `SparseAdam` and
            `Adagrad`. The default is False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(*)`, any shape, int64 or int32, from 0 to `num_embeddings - 1`.
        - Output: `(*, embedding_dim)`.

    Attributes:
        weight (Parameter, shape (num_embeddings, embedding_dim)): Standard normal numbers at first.

    Notes:
        - The layer is a product with one-hot vectors without the zeros: its gradient adds the rows of the output's
          gradient.
        - With `max_norm` the call changes `weight`: a differentiable use of `weight` in the same step needs a clone
          before the call.
        - `from_pretrained` builds a layer with a table of your own.

    Raises:
        AssertionError: If `padding_idx` isn't a row.
        IndexError: If a number isn't a row, when the layer is called.
        RuntimeError: If the input has another type than int64 and int32, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Embedding(10, 3)(tl_core.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 4, 3])
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
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes, norm = (num_embeddings, embedding_dim), (max_norm, norm_type)
        kind = {"device": device, "dtype": dtype}
        self._set_up(sizes, padding_idx, norm, scale_grad_by_freq, sparse, _weight, kind, not _freeze)

    def forward(self, input: Tensor) -> Tensor:
        """The vectors of the numbers in `input`, shape (*): shape (*, embedding_dim)."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A layer with a given table.

        Args:
            embeddings (Tensor, shape (num_embeddings, embedding_dim)): The table.
            freeze (bool): Whether it isn't trained.
            padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: See `Embedding`.

        Example:
            >>> import tl_core, tl_nn
            >>> table = tl_core.tensor([[1.0, 2.3], [4.0, 5.1]])
            >>> tl_nn.Embedding.from_pretrained(table)(tl_core.tensor([1]))
            tensor([[4.0000, 5.1000]])
        """
        return cls(
            *_check_table(embeddings),
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    r"""Sums, means or maxima over bags of rows of a table, without the rows as an intermediate tensor.

    Formula:
        .. math::

            y_{b} = \sum_{i \in \mathrm{bag}_b} w_i \, W_{x_i}

        `W` is `weight`, `x` contains row numbers, and `w` are `per_sample_weights` or 1. Mode "mean" divides by the
        number of rows of the bag, "max" is the maximum of each column instead of the sum.

    Args:
        num_embeddings (int): The number of rows of the table.
        embedding_dim (int): The size of a row.
        max_norm, norm_type, scale_grad_by_freq, sparse: See `Embedding`. Mode "max" supports neither of the last
            two.
        mode (str): "sum", "mean" or "max". The default is "mean".
        include_last_offset (bool): Whether the offsets end with the number of row numbers. The default is False.
        padding_idx (int, optional): A row that is 0 at first, gets no gradient and counts in no bag.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(B, N)`, B bags of N row numbers, or `(N,)`, all bags one after the other. int64 or int32.
        - Offsets: `(B,)`, the first position of each bag, for an input of shape `(N,)`. With `include_last_offset`:
          `(B + 1,)`.
        - Weights of the samples: the shape of the input, for mode "sum".
        - Output: `(B, embedding_dim)`.

    Attributes:
        weight (Parameter, shape (num_embeddings, embedding_dim)): Standard normal numbers at first.

    Notes:
        - An empty bag, also one of padding only, gives 0 in every mode.
        - The first offset is 0.

    Raises:
        ValueError: If the shapes of input and offsets don't fit, `mode` has another name, or "max" meets `sparse`
            or `scale_grad_by_freq`.
        NotImplementedError: If weights of samples meet another mode than "sum".
        RuntimeError: If the first offset isn't 0.

    Example:
        >>> import tl_core, tl_nn
        >>> bags = tl_nn.EmbeddingBag(10, 3, mode="sum")
        >>> bags(tl_core.tensor([1, 2, 4, 5, 4, 3, 2, 9]), tl_core.tensor([0, 4])).shape
        torch.Size([2, 3])
    """

    __constants__ = [*_Table.__constants__, "mode", "include_last_offset"]
    _shown: tuple[str, ...] = (
        "max_norm", "norm_type", "scale_grad_by_freq", "mode", "padding_idx",
    )  # fmt: skip
    mode: str
    include_last_offset: bool

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
    ) -> None:
        super().__init__()
        sizes, norm = (num_embeddings, embedding_dim), (max_norm, norm_type)
        kind = {"device": device, "dtype": dtype}
        self._set_up(sizes, padding_idx, norm, scale_grad_by_freq, sparse, _weight, kind)
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """One vector for each bag.

        Args:
            input (Tensor, shape (B, N) or (N,)): Bags of the same size, or all bags one after the other.
            offsets (Tensor, shape (B,), optional): Where each bag begins, for an input of shape (N,).
            per_sample_weights (Tensor, shape of `input`, optional): Factors of the vectors, for sums.

        Returns:
            Tensor, shape (B, embedding_dim)
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A layer with a given table. See `Embedding.from_pretrained`.

        Example:
            >>> import tl_core, tl_nn
            >>> table = tl_core.tensor([[1.0, 2.0], [4.0, 5.0]])
            >>> tl_nn.EmbeddingBag.from_pretrained(table)(tl_core.tensor([[1, 0]]))
            tensor([[2.5000, 3.5000]])
        """
        layer = cls(
            *_check_table(embeddings),
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        layer.weight.requires_grad = not freeze
        return layer

"""Attention with several heads."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .masks import canonical_mask
from .module import Module
from .nested_attention import nested_attention

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    r"""Attention with several heads: each query receives a mean of the values, weighted by its likeness to the keys.

    Formula:
        .. math::

            \mathrm{head}_i =
            \mathrm{softmax}\left( \frac{(Q W_i^Q) (K W_i^K)^{\mathsf{T}}}{\sqrt{d}} + \mathrm{mask} \right) V W_i^V
            \qquad y = \mathrm{concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h) \, W^O

        `Q`, `K` and `V` are the arguments `query`, `key` and `value` of the call, `h` is `num_heads` and `d` is
        `embed_dim / num_heads`. The `W` are the projections, each with a bias. The softmax is over the keys.

    Args:
        embed_dim (int): The size of queries and results, E.
        num_heads (int): The number of heads, a divisor of `embed_dim`.
        dropout (float): The probability with which an attention weight is dropped, in training. The default is 0.
        bias (bool): Whether the projections have biases. The default is True.
        add_bias_kv (bool): Whether a learned key and value are appended to all sequences. The default is False.
        add_zero_attn (bool): Whether a key and value of zeros are appended. The default is False.
        kdim, vdim (int, optional): The sizes of keys and values. None selects `embed_dim`.
        batch_first (bool): Whether the batch is the first dimension. The default is False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Query: `(L, N, E)`, `(N, L, E)` with `batch_first`, or `(L, E)`.
        - Key: `(S, N, kdim)`, `(N, S, kdim)` or `(S, kdim)`. Value: the same with `vdim`.
        - `key_padding_mask`: `(N, S)` or `(S,)`. `attn_mask`: `(L, S)` or `(N * num_heads, L, S)`.
        - Output: the result, of the query's shape, and the weights: `(N, L, S)` or `(L, S)`, with
          `average_attn_weights=False` `(N, num_heads, L, S)` or `(num_heads, L, S)`, with `need_weights=False`
          None.

    Attributes:
        in_proj_weight (Parameter, shape (3 * E, E), or None): The projections of query, key and value. Initially
            `init.xavier_uniform_`.
        q_proj_weight, k_proj_weight, v_proj_weight (Parameter, shape (E, E), (E, kdim), (E, vdim), or None): These
            projections where the sizes differ.
        in_proj_bias (Parameter, shape (3 * E,), or None): Their biases, 0 at first.
        bias_k, bias_v (Parameter, shape (1, 1, E), or None): The appended key and value. Initially
            `init.xavier_normal_`.
        out_proj (Linear): The projection of the result, with a bias of 0 at first.

    Notes:
        - A boolean mask hides the keys where it is True, a mask of numbers is added to the scores. Both masks may
          have either kind.
        - A query without a visible key has weights of 0, so its result is the bias of the output, not NaN.
        - `need_weights=False` selects `scaled_dot_product_attention`, which never stores the matrix of weights. The
          default stores it, in memory of `N * num_heads * L * S` elements.
        - `is_causal` is a hint that belongs to a causal `attn_mask`: without a mask it raises RuntimeError.
        - Nested tensors need `batch_first`, and accept neither masks nor `need_weights`.
        - Source: Vaswani et al., Attention Is All You Need, 2017.

    Raises:
        ValueError: If a size isn't positive.
        AssertionError: If `num_heads` doesn't divide `embed_dim`, or shapes don't fit, when the layer is called.
        RuntimeError: If a mask has another shape or type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> x = tl_core.zeros(5, 2, 8)
        >>> result, weights = tl_nn.MultiheadAttention(8, 4)(x, x, x)
        >>> result.shape, weights.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    __constants__ = ["batch_first"]
    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        kind = {"device": device, "dtype": dtype}
        self._register(bias, add_bias_kv, kind)
        self.out_proj: Any = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kind)
        if add_bias_kv:
            self.bias_k = Parameter(tl_core.empty((1, 1, embed_dim), **kind))
            self.bias_v = Parameter(tl_core.empty((1, 1, embed_dim), **kind))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register(self, bias: bool, add_bias_kv: bool, kind: dict[str, Any]) -> None:
        size, same = self.embed_dim, self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": None if same else (size, size),
            "k_proj_weight": None if same else (size, self.kdim),
            "v_proj_weight": None if same else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if same else None,
            "in_proj_bias": (3 * size,) if bias else None,
        }
        for name in shapes if not same else ("in_proj_weight", *shapes):
            shape = shapes[name]
            if name not in self._parameters:
                parameter = None if shape is None else Parameter(tl_core.empty(shape, **kind))
                self.register_parameter(name, parameter)

    def _reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let the queries attend to the keys.

        Args:
            query, key, value (Tensor, shape (L, N, E), (S, N, kdim), (S, N, vdim)): The queries, keys and
                values. With `batch_first`, N comes first, and N is optional. Nested tensors need `batch_first`,
                and take neither masks nor `need_weights`.
            key_padding_mask (Tensor, shape (N, S) or (S,), optional): Keys to leave out, where it is True; or numbers
                to add to their scores.
            need_weights (bool): Whether the attention weights are returned, which costs the faster way of computing.
            attn_mask (Tensor, shape (L, S) or (N * num_heads, L, S), optional): Pairs to leave out, where it is True;
                or numbers to add to their scores.
            average_attn_weights (bool): Whether the weights returned are the mean over heads.
            is_causal (bool): A hint that `attn_mask` leaves out all later keys. Only used with it.

        Returns:
            The result, of the query's shape, and the weights, shape (N, L, S) or (N, num_heads, L, S), or None.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            masks = (attn_mask, key_padding_mask)
            return nested_attention(self, query, key, value, *masks, need_weights, is_causal), None
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            query, key, value = _swap_batch(query, key, value)
        result, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (result.transpose(1, 0) if swapped else result), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind.

        Args:
            attn_mask (Tensor, shape (L, L) or (N * num_heads, L, L), optional): Pairs of positions to leave out.
            key_padding_mask (Tensor, shape (N, L), optional): Positions to leave out.
            query (Tensor, shape (N, L, E)): The query.

        Returns:
            The mask, and 0 for a mask of pairs, 1 of positions, 2 of both. Or None twice.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        mask = attn_mask if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length)
        mask = (
            mask.expand(batch, self.num_heads, -1, -1)
            if mask.dim() == 4
            else mask.view(batch, -1, length, length)
        )
        if key_padding_mask is None:
            return mask, 2
        padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        if mask.dtype == tl_core.bool and padding.dtype == tl_core.bool:
            return mask.logical_or(padding), 2
        return _sum(mask, padding, query), 2


def _sum(mask: Tensor, padding: Tensor, query: Tensor) -> Tensor:
    first = canonical_mask(mask, "attn_mask", query)
    second = canonical_mask(padding, "key_padding_mask", query)
    return first + second  # type: ignore[operator]


def _swap_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs with the batch as second dimension. Equal inputs stay one tensor."""
    transposes = {id(each): each.transpose(1, 0) for each in (query, key, value)}
    return transposes[id(query)], transposes[id(key)], transposes[id(value)]

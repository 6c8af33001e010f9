"""The transformer and its parts."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch.keys import is_tensor_subclass_like
from tl_core.settings import switches

from .. import functional as F
from .. import init
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .masks import canonical_mask
from .module import Module
from .multihead_attention import MultiheadAttention
from .nested_attention import as_nested_batch, padded_again
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_Activation = str | Callable[[Tensor], Tensor]


switches.declare("backends.mha.fastpath", True, bool)


class _Layer(Module):
    """Base class of the layers of encoder and decoder: attention, a network of two layers, normalization."""

    __constants__ = ["norm_first"]
    self_attn: Any
    linear1: Any
    linear2: Any
    dropout: Any
    activation: Callable[[Tensor], Tensor]
    norm_first: bool

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "activation" not in self.__dict__ and "activation" not in self._modules:
            self.activation = F.relu

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """The sequence attending to itself."""
        x, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(x)

    def _hidden(self, x: Tensor) -> Tensor:
        """The network of two layers."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    r"""A layer of an encoder: self-attention, then a network, each with a residual and a normalization.

    Formula:
        .. math::

            x \leftarrow \mathrm{LN}_1(x + \mathrm{SA}(x)), \qquad y = \mathrm{LN}_2(x + \mathrm{FF}(x))
            \qquad \mathrm{FF}(x) = W_2 \, \mathrm{dropout}(f(W_1 x + b_1)) + b_2

        With `norm_first` the normalizations precede the parts:

        .. math::

            x \leftarrow x + \mathrm{SA}(\mathrm{LN}_1(x)), \qquad y = x + \mathrm{FF}(\mathrm{LN}_2(x))

        `SA` is `MultiheadAttention` of a sequence with itself, `FF` a network of two linear layers, `LN` is
        `LayerNorm`, and `f` is `activation`.

    Args:
        d_model (int): The size of the features, E.
        nhead (int): The number of heads, a divisor of `d_model`.
        dim_feedforward (int): The size between the two layers of the network. The default is 2048.
        dropout (float): The probability of dropout, in training: of attention weights, inside the network and
            before each sum. The default is 0.1.
        activation (str or callable): "relu", "gelu", or a function of a tensor. The default is "relu".
        layer_norm_eps (float): The `eps` of the normalizations. The default is 1e-5.
        batch_first (bool): Whether the batch is the first dimension. The default is False.
        norm_first (bool): Whether the input of each part is normalized, instead of each sum. The default is False.
        bias (bool): Whether linear layers and normalizations have biases. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Sequence: `(S, N, E)`, `(N, S, E)` with `batch_first`, or `(S, E)`.
        - `src_mask`: `(S, S)` or `(N * nhead, S, S)`. `src_key_padding_mask`: `(N, S)` or `(S,)`.
        - Output: the shape of the sequence.

    Notes:
        - Dropout acts on the attention weights, inside `FF`, and on each part before it is added. In evaluation
          there is none.
        - `norm_first=True` trains without a warm-up of the learning rate. Its stack needs a normalization at the
          end.
        - Masks are those of `MultiheadAttention`: True hides a position, numbers are added to the scores.
        - Source: Vaswani et al., Attention Is All You Need, 2017. Xiong et al., On Layer Normalization in the
          Transformer Architecture, 2020, for `norm_first`.

    Raises:
        RuntimeError: If `activation` is another text.
        AssertionError: If `nhead` doesn't divide `d_model`, or shapes don't fit, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> layer(tl_core.zeros(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **kind
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence after this layer.

        Args:
            src (Tensor, shape (S, N, E), (N, S, E) with `batch_first`, or (S, E)): The sequence.
            src_mask, src_key_padding_mask (Tensor, optional): Pairs and positions to leave out; see
                `MultiheadAttention.forward`.
            is_causal (bool): A hint that `src_mask` leaves out all later positions.
        """
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(src_mask, "src_mask", src)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._hidden(x))


class TransformerDecoderLayer(_Layer):
    r"""A layer of a decoder: self-attention, attention to the encoder's output, then a network.

    Formula:
        .. math::

            x \leftarrow \mathrm{LN}_1(x + \mathrm{SA}(x)), \qquad x \leftarrow \mathrm{LN}_2(x +
            \mathrm{MHA}(x, m, m)), \qquad
            y = \mathrm{LN}_3(x + \mathrm{FF}(x)) \qquad \mathrm{FF}(x) =
            W_2 \, \mathrm{dropout}(f(W_1 x + b_1)) + b_2

        With `norm_first` the normalizations precede the parts, as in `TransformerEncoderLayer`. `m` is the
        encoder's output, `MHA` is `MultiheadAttention`, `SA` the same of a sequence with itself, `FF` a network of
        two linear layers, `LN` is `LayerNorm`, and `f` is `activation`.

    Args:
        d_model (int): The size of the features, E.
        nhead (int): The number of heads, a divisor of `d_model`.
        dim_feedforward (int): The size between the two layers of the network. The default is 2048.
        dropout (float): The probability of dropout, in training: of attention weights, inside the network and
            before each sum. The default is 0.1.
        activation (str or callable): "relu", "gelu", or a function of a tensor. The default is "relu".
        layer_norm_eps (float): The `eps` of the normalizations. The default is 1e-5.
        batch_first (bool): Whether the batch is the first dimension. The default is False.
        norm_first (bool): Whether the input of each part is normalized, instead of each sum. The default is False.
        bias (bool): Whether linear layers and normalizations have biases. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Target: `(T, N, E)`, `(N, T, E)` with `batch_first`, or `(T, E)`.
        - Memory: `(S, N, E)`, `(N, S, E)` with `batch_first`, or `(S, E)`.
        - `tgt_mask`: `(T, T)` or `(N * nhead, T, T)`. `memory_mask`: `(T, S)` or `(N * nhead, T, S)`.
        - `tgt_key_padding_mask`: `(N, T)` or `(T,)`. `memory_key_padding_mask`: `(N, S)` or `(S,)`.
        - Output: the shape of the target.

    Notes:
        - The layer isn't causal by itself: pass `tgt_mask`, as of `Transformer.generate_square_subsequent_mask`.
        - Dropout acts on the attention weights, inside `FF`, and on each part before it is added. In evaluation
          there is none.
        - `norm_first=True` trains without a warm-up of the learning rate. Its stack needs a normalization at the
          end.
        - Masks are those of `MultiheadAttention`: True hides a position, numbers are added to the scores.
        - Source: Vaswani et al., Attention Is All You Need, 2017. Xiong et al., On Layer Normalization in the
          Transformer Architecture, 2020, for `norm_first`.

    Raises:
        RuntimeError: If `activation` is another text.
        AssertionError: If `nhead` doesn't divide `d_model`, or shapes don't fit, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> layer(tl_core.zeros(4, 3, 8), tl_core.zeros(5, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        for number in ("1", "2", "3"):
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind))
        for number in ("1", "2", "3"):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after this layer.

        Args:
            tgt (Tensor, shape (T, N, E), (N, T, E) with `batch_first`, or (T, E)): The sequence.
            memory (Tensor, shape (S, N, E), (N, S, E) or (S, E)): The encoder's output.
            tgt_mask, tgt_key_padding_mask, memory_mask, memory_key_padding_mask (Tensor, optional): Pairs and
                positions to leave out in both. See `MultiheadAttention.forward`.
            tgt_is_causal, memory_is_causal (bool): Hints that the masks leave out all later positions.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence attending to the encoder's output."""
        x, _ = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._hidden(x))


class _Stack(Module):
    """Copies of a layer, one after the other, and an optional normalization at the end."""

    __constants__ = ["norm"]

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = _get_clones(layer, num_layers)
        self.num_layers = num_layers
        self.norm: Any = norm

    def _finish(self, output: Tensor) -> Tensor:
        return output if self.norm is None else self.norm(output)


class TransformerEncoder(_Stack):
    r"""A stack of encoder layers.

    Formula:
        .. math::

            x^{(l)} = \mathrm{layer}_l(x^{(l - 1)}), \quad l = 1, \ldots, n, \qquad y = \mathrm{norm}(x^{(n)})

        `x^(0)` is the input and `n` is `num_layers`. Without `norm` the result is `x^(n)`.

    Args:
        encoder_layer (TransformerEncoderLayer): The layer, which is copied.
        num_layers (int): The number of copies.
        norm (Module, optional): A normalization at the end.
        enable_nested_tensor (bool): Whether evaluation without gradients may leave out padding. The default is
            True.
        mask_check (bool): Whether the encoder first tests that padding is at the ends of sequences. The default is
            True.

    Shape:
        - Sequence: `(S, N, E)`, `(N, S, E)` with `batch_first`, or `(S, E)`.
        - `mask`: `(S, S)` or `(N * nhead, S, S)`. `src_key_padding_mask`: `(N, S)` or `(S,)`.
        - Output: the shape of the sequence.

    Notes:
        - The layers are deep copies, so all begin with the same parameters. `Transformer` draws its own.
        - Padding is left out, and 0 in the result, with `batch_first`, a boolean `src_key_padding_mask` and no
          `mask`, in evaluation without gradients, unless `torch.backends.mha.set_fastpath_enabled(False)` forbids
          it.
        - A causal `mask` is recognized by its values, unless `is_causal` states it.

    Raises:
        TypeError: If `encoder_layer` isn't a module.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> tl_nn.TransformerEncoder(layer, num_layers=2)(tl_core.zeros(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers.

        Args:
            src, src_key_padding_mask: See `TransformerEncoderLayer.forward`.
            mask (Tensor, optional): Pairs of positions to leave out.
            is_causal (bool, optional): Whether the mask leaves out all later positions, by default a test of the mask.
        """
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(mask, "mask", src)
        causal = _detect_is_causal_mask(mask, is_causal)
        nested = None
        if src_key_padding_mask is not None and mask is None and self._takes_nested():
            nested = as_nested_batch(src, src_key_padding_mask, self.mask_check)
        output = src if nested is None else nested
        padding = padding if nested is None else None
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if nested is not None:
            output = padded_again(output, src.shape)
        return self._finish(output)

    def _takes_nested(self) -> bool:
        """Whether the layers may run on sequences without their padding."""
        if (
            not self.enable_nested_tensor
            or not switches.get("backends.mha.fastpath")
            or self.training
            or tl_core.is_grad_enabled()
            or not len(self.layers)
        ):
            return False
        layer = self.layers[0]
        if not isinstance(layer, TransformerEncoderLayer):
            return False
        attention = layer.self_attn
        return attention.batch_first and attention.bias_k is None and not attention.add_zero_attn


class TransformerDecoder(_Stack):
    r"""A stack of decoder layers.

    Formula:
        .. math::

            x^{(l)} = \mathrm{layer}_l(x^{(l - 1)}, m), \quad l = 1, \ldots, n, \qquad y = \mathrm{norm}(x^{(n)})

        `x^(0)` is the target, `m` the encoder's output and `n` is `num_layers`. Without `norm` the result is
        `x^(n)`.

    Args:
        decoder_layer (TransformerDecoderLayer): The layer, which is copied.
        num_layers (int): The number of copies.
        norm (Module, optional): A normalization at the end.

    Shape:
        - Target: `(T, N, E)`, `(N, T, E)` with `batch_first`, or `(T, E)`.
        - Memory: `(S, N, E)`, `(N, S, E)` with `batch_first`, or `(S, E)`.
        - Masks: as of `TransformerDecoderLayer`.
        - Output: the shape of the target.

    Notes:
        - The layers are deep copies, so all begin with the same parameters. `Transformer` draws its own.
        - A causal `tgt_mask` is recognized by its values, unless `tgt_is_causal` states it.

    Raises:
        TypeError: If `decoder_layer` isn't a module.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> decoder = tl_nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(tl_core.zeros(4, 3, 8), tl_core.zeros(5, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after all layers. See `TransformerDecoderLayer.forward`."""
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return self._finish(output)


class Transformer(Module):
    r"""An encoder and a decoder for pairs of sequences.

    Formula:
        .. math::

            y = \mathrm{decoder}(\mathrm{tgt}, \; \mathrm{encoder}(\mathrm{src}))

        `TransformerEncoder` and `TransformerDecoder` have the formulas of the two parts. Each ends with a
        `LayerNorm`.

    Args:
        d_model (int): The size of the features, E. The default is 512.
        nhead (int): The number of heads, a divisor of `d_model`. The default is 8.
        num_encoder_layers, num_decoder_layers (int): The numbers of layers. The defaults are 6.
        dim_feedforward (int): The size between the two layers of the network. The default is 2048.
        dropout (float): The probability of dropout, in training: of attention weights, inside the network and
            before each sum. The default is 0.1.
        activation (str or callable): "relu", "gelu", or a function of a tensor. The default is "relu".
        layer_norm_eps (float): The `eps` of the normalizations. The default is 1e-5.
        custom_encoder, custom_decoder (Module, optional): Modules in the place of the encoder and the decoder.
        batch_first (bool): Whether the batch is the first dimension. The default is False.
        norm_first (bool): Whether the input of each part is normalized, instead of each sum. The default is False.
        bias (bool): Whether linear layers and normalizations have biases. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Source: `(S, N, E)`, `(N, S, E)` with `batch_first`, or `(S, E)`.
        - Target: `(T, N, E)`, `(N, T, E)` with `batch_first`, or `(T, E)`.
        - Masks: as of `TransformerEncoder` and `TransformerDecoder`.
        - Output: the shape of the target.

    Attributes:
        encoder (TransformerEncoder), decoder (TransformerDecoder): The two parts.

    Notes:
        - All matrices are drawn anew with `init.xavier_uniform_`, also those of the copies.
        - The model has no embeddings, no positions and no output layer.
        - The decoder isn't causal by itself: pass `tgt_mask=Transformer.generate_square_subsequent_mask(T)`.
        - Source: Vaswani et al., Attention Is All You Need, 2017.

    Raises:
        RuntimeError: If the batches of the two sequences differ, or a feature size isn't `d_model`, when the model
            is called.
        AssertionError: If `nhead` doesn't divide `d_model`.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
        >>> model(tl_core.zeros(5, 3, 8), tl_core.zeros(4, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    encoder: Any
    decoder: Any

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        options: list[Any] = [d_model, nhead, dim_feedforward, dropout, activation]
        options += [layer_norm_eps, batch_first, norm_first, bias, device, dtype]

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)

        self.encoder = custom_encoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.decoder = custom_decoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output for a source and a target.

        Args:
            src (Tensor, shape (S, N, E), (N, S, E) with `batch_first`, or (S, E)): The input of the encoder.
            tgt (Tensor, shape (T, N, E), (N, T, E) or (T, E)): The input of the decoder.
            src_mask (Tensor, shape (S, S) or (N * nhead, S, S), optional): Added to the encoder's attention scores. Of
                booleans, True excludes a position.
            tgt_mask (Tensor, shape (T, T) or (N * nhead, T, T), optional): The same for the decoder's self-attention.
            memory_mask (Tensor, shape (T, S) or (N * nhead, T, S), optional): The same for the decoder's attention to
                the encoder's output.
            src_key_padding_mask (Tensor, shape (N, S) or (S,), optional): The positions of `src` to ignore.
            tgt_key_padding_mask (Tensor, shape (N, T) or (T,), optional): The positions of `tgt` to ignore.
            memory_key_padding_mask (Tensor, shape (N, S) or (S,), optional): The positions of the encoder's output to
                ignore.
            src_is_causal (bool, optional): Whether `src_mask` is causal. None compares it with a causal mask.
            tgt_is_causal (bool, optional): The same for `tgt_mask`.
            memory_is_causal (bool): Whether `memory_mask` is causal.

        Returns:
            Tensor, of the shape of `tgt`
        """
        axis = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(axis) != tgt.size(axis):
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, got {src.size(axis)} and {tgt.size(axis)}"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}, "
                f"got {src.size(-1)} and {tgt.size(-1)}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that leaves out all later positions: minus infinity above the diagonal, 0 elsewhere.

        Example:
            >>> import tl_nn
            >>> tl_nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        """Draw all matrices anew."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    return tl_core.triu(tl_core.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _detect_is_causal_mask(
    mask: Tensor | None, is_causal: bool | None = None, size: int | None = None
) -> bool:
    """Whether the mask leaves out all later positions, unless the caller passes it."""
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    length = mask.size(-2) if size is None else size
    if mask.size(-1) != length or is_tensor_subclass_like(mask):  # of a traced mask no element is known
        return False
    causal = _generate_square_subsequent_mask(length, mask.device, mask.dtype)
    return bool((mask == causal).all())


def _get_clones(module: Module, count: int) -> ModuleList:
    if not isinstance(module, Module):
        raise TypeError(f"the layer to be repeated must be a Module, got {type(module).__name__}")
    return ModuleList([deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")

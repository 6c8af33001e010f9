"""The size and the work of a decoder-only transformer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer.

    Args:
        layers: the number of layers.
        hidden: the width.
        sequence: the tokens of a sequence.
        vocabulary: the number of tokens that there are.
        inner: the width of the feed-forward layers; 0 for four times the width.
        key_width: the width of keys and values; 0 for the width.
        query_width: the width of queries; 0 for the width.
        is_gated: whether the feed-forward layers have three matrices instead of two.
        is_tied: whether the output layer has the weight of the embedding.

    Example:
        >>> round(Transformer(96, 12288, 2048, 51200).parameters() / 1e9, 1)
        174.6
    """

    layers: int
    hidden: int
    sequence: int
    vocabulary: int
    inner: int = 0
    key_width: int = 0
    query_width: int = 0
    is_gated: bool = False
    is_tied: bool = True

    def layer_parameters(self) -> int:
        """The elements of the matrices of one layer."""
        inner, keys = self.inner or 4 * self.hidden, self.key_width or self.hidden
        queries = self.query_width or self.hidden
        attention = 2 * self.hidden * (queries + keys)
        return attention + (3 if self.is_gated else 2) * self.hidden * inner

    def parameters(self) -> int:
        """The elements of all parameters, with biases and norms of a layer taken as 13 widths."""
        embeddings = (self.vocabulary if self.is_tied else 2 * self.vocabulary) * self.hidden
        positions = self.sequence * self.hidden if self.is_tied else 0
        return self.layers * (self.layer_parameters() + 13 * self.hidden) + embeddings + positions

    def operations(self, sequences: float, recomputes: bool) -> float:
        """The floating-point operations of a training step.

        Args:
            sequences: the size of the batch.
            recomputes: whether the backward pass runs the forward pass again.
        """
        passes = 8 if recomputes else 6  # two for a product; the backward pass has two products for each
        products = self.layers * (self.layer_parameters() + 2 * self.sequence * self.hidden)
        return sequences * self.sequence * (passes * products + 6.0 * self.vocabulary * self.hidden)


MODELS = {
    "1.7b": Transformer(24, 2304, 2048, 51200),
    "175b": Transformer(96, 12288, 2048, 51200),
    "530b": Transformer(105, 20480, 2048, 51200),
    "1t": Transformer(128, 25600, 2048, 51200),
    "405b": Transformer(126, 16384, 8192, 128256, 53248, 1024, is_gated=True, is_tied=False),
    "70b": Transformer(80, 8192, 8192, 128256, 28672, 1024, is_gated=True, is_tied=False),
    "8b": Transformer(32, 4096, 8192, 128256, 14336, 1024, is_gated=True, is_tied=False),
}

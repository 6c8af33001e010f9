# ruff: noqa: E501 - a signature is one line
"""Packed sequences as programs, and recurrent layers that run on them."""

from __future__ import annotations

__all__ = ["PACKED_LAYERS", "SEQUENCES"]

SEQUENCES = """
def invert_permutation(permutation: Optional[Tensor]) -> Optional[Tensor]:
    if permutation is None:
        return None
    positions = aten.arange(permutation.numel(), device=permutation.device)
    return aten.empty_like(permutation).scatter_(0, permutation, positions)

def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    own, counts = input, lengths
    order: Optional[Tensor] = None
    if not enforce_sorted:
        result = aten.sort(lengths, descending=True)
        counts = result[0]
        order = result[1].to(input.device)
        own = input.index_select(0 if batch_first else 1, order)
    data, sizes = own_operators._pack_padded_sequence(own, counts, batch_first)
    return PackedSequence(data, sizes, order, _inverse(order))

def _inverse(permutation: Optional[Tensor]) -> Optional[Tensor]:
    if permutation is None:
        return None
    positions = aten.arange(permutation.numel(), device=permutation.device)
    return aten.empty_like(permutation).scatter_(0, permutation, positions)

def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    longest = sequence.batch_sizes.size(0)
    total = longest
    if total_length is not None:
        total = total_length
        if total < longest:
            raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total} and max sequence length being {longest}")
    padded, lengths = own_operators._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, total)
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]
    return padded, lengths

def pad_sequence(sequences: List[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    return aten.pad_sequence(sequences, batch_first, padding_value, padding_side)

def pack_sequence(sequences: List[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    lengths: List[int] = []
    for sequence in sequences:
        lengths.append(sequence.size(0))
    return rnn.pack_padded_sequence(aten.pad_sequence(sequences), tensor(lengths), False, enforce_sorted)

def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> List[Tensor]:
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    result: List[Tensor] = []
    for i in range(lengths.size(0)):
        result.append(rows[i][:int(lengths[i])])
    return result
"""

_PACKED = """
def forward_packed(self, input: PackedSequence, hx: Optional[{state}] = None) -> Tuple[PackedSequence, {state}]:
    own, sizes, order, back = input
    count = int(sizes[0])
    rows = self.num_layers * (2 if self.bidirectional else 1)
{states}
    result = aten.{function}(own, sizes, {hidden}, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
    return PackedSequence(result[0], sizes, order, back), {last}

def _permute(self, x: Tensor, order: Optional[Tensor]) -> Tensor:
    return x if order is None else x.index_select(1, order)
"""
_LSTM_STATES = """    if hx is None:
        real = self.proj_size if self.proj_size > 0 else self.hidden_size
        first = aten.zeros([rows, count, real], dtype=own.dtype, device=own.device)
        second = aten.zeros([rows, count, self.hidden_size], dtype=own.dtype, device=own.device)
    else:
        first, second = self._permute(hx[0], order), self._permute(hx[1], order)"""
_STATE = """    if hx is None:
        first = aten.zeros([rows, count, self.hidden_size], dtype=own.dtype, device=own.device)
    else:
        first = self._permute(hx, order)"""

PACKED_LAYERS = {
    "LSTM": _PACKED.format(
        state="Tuple[Tensor, Tensor]", states=_LSTM_STATES, function="lstm", hidden="[first, second]",
        last="(self._permute(result[1], back), self._permute(result[2], back))"),
    **{name: _PACKED.format(
        state="Tensor", states=_STATE, function=function, hidden="first", last="self._permute(result[1], back)")
       for name, function in (("GRU", "gru"), ("RNN_TANH", "rnn_tanh"), ("RNN_RELU", "rnn_relu"))},
}  # fmt: skip

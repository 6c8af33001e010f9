"""Batches of sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import tl_core
from tl_core import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths, one step of all after the other, the longest sequence first.

    Made by `pack_padded_sequence` and its like rather than by hand.

    Args:
        data: the steps of all sequences, one after the other.
        batch_sizes: how many sequences have each step, int64 on the CPU.
        sorted_indices: the order that sorts the sequences by length, or None.
        unsorted_indices: the order that undoes it, or None.

    Attributes:
        data (Tensor, shape (sum of lengths, *)): The elements: the first of all sequences, the second of all that
            have one, and so on.
        batch_sizes (Tensor of int64): The number of sequences with an element at each step, on the CPU.
        sorted_indices, unsorted_indices (Tensor of int64, optional): How the sequences were sorted by length, and
            how to put them back.

    Raises:
        ValueError: If `batch_sizes` isn't on the CPU.

    Example:
        >>> import tl_core
        >>> from tl_nn.utils import rnn
        >>> packed = rnn.pack_sequence([tl_core.tensor([1, 2, 3]), tl_core.tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:  # the older form: both in a pair
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequence in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence moved or converted, see `Tensor.to`. Without a change, the sequence itself."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [
            None if each is None else each.to(data.device)
            for each in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self) -> PackedSequence:
        """A copy in memory from which a device can read by itself."""
        indices = [
            None if each is None else each.pin_memory()
            for each in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moved to a CUDA device."""
        return self.to(*args, device="cuda", **kwargs) if not args else self.to(*args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moved to the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def double(self) -> PackedSequence:
        """Cast to `float64`."""
        return self.to(dtype=tl_core.float64)

    def float(self) -> PackedSequence:
        """Cast to `float32`."""
        return self.to(dtype=tl_core.float32)

    def half(self) -> PackedSequence:
        """Cast to `float16`."""
        return self.to(dtype=tl_core.float16)

    def long(self) -> PackedSequence:
        """Cast to `int64`."""
        return self.to(dtype=tl_core.int64)

    def int(self) -> PackedSequence:
        """Cast to `int32`."""
        return self.to(dtype=tl_core.int32)

    def short(self) -> PackedSequence:
        """Cast to `int16`."""
        return self.to(dtype=tl_core.int16)

    def char(self) -> PackedSequence:
        """Cast to `int8`."""
        return self.to(dtype=tl_core.int8)

    def byte(self) -> PackedSequence:
        """Cast to `uint8`."""
        return self.to(dtype=tl_core.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the elements are in memory that a device can read directly."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of `permutation`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.utils.rnn.invert_permutation(tl_core.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = tl_core.arange(permutation.numel(), device=permutation.device)
    return tl_core.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a batch of padded sequences.

    Args:
        input (Tensor, shape (T, B, *), or (B, T, *) with `batch_first`): The sequences, padded to the longest.
        lengths (Tensor on the CPU, or list of int): The length of each.
        batch_first (bool): Whether the batch is the first dimension.
        enforce_sorted (bool): Whether the sequences must be sorted, the longest first. Otherwise they are sorted here.

    Raises:
        RuntimeError: If lengths don't decrease though they must, aren't positive, or are of another number.

    Example:
        >>> import tl_core, tl_nn
        >>> batch = tl_core.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
        >>> packed = tl_nn.utils.rnn.pack_padded_sequence(batch, [2, 1, 3], True, enforce_sorted=False)
        >>> packed.data, packed.batch_sizes
        (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    lengths = lengths if isinstance(lengths, Tensor) else tl_core.tensor(lengths, dtype=tl_core.int64)
    order = None
    if not enforce_sorted:
        lengths, order = tl_core.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    counts = _batch_sizes(steps, lengths)
    data = tl_core.cat([steps[step, :count] for step, count in enumerate(counts)])
    return PackedSequence(data, tl_core.tensor(counts, dtype=tl_core.int64), order, None)


def _batch_sizes(steps: Tensor, lengths: Tensor) -> list[int]:
    """The number of sequences that have an element at each step."""
    if lengths.dim() != 1 or lengths.dtype != tl_core.int64 or lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device} {lengths.dtype} tensor"
        )
    sizes = lengths.tolist()
    if steps.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(sizes) != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={steps.shape[1]})"
        )
    if min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
            "if you do not need ONNX exportability."
        )
    if sizes[0] > steps.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {steps.shape[0]}, but got {sizes[0]}")
    return [sum(size > step for size in sizes) for step in range(sizes[0])]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Turn packed sequences into a padded batch.

    Args:
        sequence (PackedSequence): The sequences.
        batch_first (bool): Whether the batch becomes the first dimension.
        padding_value (float): The padding after the end of a sequence.
        total_length (int, optional): The length to pad to, by default the longest.

    Returns:
        The batch, and the length of each sequence.

    Raises:
        ValueError: If `total_length` is less than the longest length.

    Example:
        >>> import tl_core, tl_nn
        >>> rnn = tl_nn.utils.rnn
        >>> packed = rnn.pack_sequence([tl_core.tensor([1, 2]), tl_core.tensor([3])])
        >>> rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    counts: list[int] = sequence.batch_sizes.tolist()
    total = len(counts) if total_length is None else total_length
    if total < len(counts):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(counts)}"
        )
    data, width = sequence.data, counts[0]
    steps = [_pad_step(part, width, padding_value) for part in data.split(counts)]
    if total > len(steps):
        steps += [data.new_full((width, *data.shape[1:]), padding_value)] * (total - len(steps))
    padded = tl_core.stack(steps, 1 if batch_first else 0)
    lengths = tl_core.tensor([sum(count > step for count in counts) for step in range(width)])
    back = sequence.unsorted_indices
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def _pad_step(part: Tensor, width: int, value: float) -> Tensor:
    """One step, with rows for the sequences that have ended."""
    if part.shape[0] == width:
        return part
    return tl_core.cat([part, part.new_full((width - part.shape[0], *part.shape[1:]), value)])


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, padded to the longest.

    Args:
        sequences (list of Tensor, each of shape (L, *)): The sequences.
        batch_first (bool): Whether the batch becomes the first dimension.
        padding_value (float): The padding beside a sequence.
        padding_side (str): "right" or "left".

    Returns:
        Tensor, shape (T, B, *), or (B, T, *) with `batch_first`

    Raises:
        RuntimeError: If `sequences` isn't iterable, is empty, or `padding_side` has another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.utils.rnn.pad_sequence([tl_core.tensor([1, 2]), tl_core.tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequence_list = list(sequences)
    if not sequence_list:
        raise RuntimeError("received an empty list of sequences")
    if any(sequence.dim() == 0 for sequence in sequence_list):
        raise RuntimeError("pad_sequence: Expected sequences of at least one dimension, got a tensor without")
    longest = max(sequence.shape[0] for sequence in sequence_list)
    return tl_core.stack(
        [_pad_to(each, longest, padding_value, padding_side) for each in sequence_list],
        0 if batch_first else 1,
    )


def _pad_to(sequence: Tensor, length: int, value: float, side: str) -> Tensor:
    missing = length - sequence.shape[0]
    if missing == 0:
        return sequence
    rest = sequence.new_full((missing, *sequence.shape[1:]), value)
    return tl_core.cat([sequence, rest] if side == "right" else [rest, sequence])


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Take the sequences out of a padded batch.

    Args:
        padded_sequences (Tensor, shape (T, B, *), or (B, T, *) with `batch_first`): The batch.
        lengths (Tensor): The length of each sequence.
        batch_first (bool): Whether the batch is the first dimension.

    Example:
        >>> import tl_core, tl_nn
        >>> batch = tl_core.tensor([[1, 2], [3, 0]])
        >>> tl_nn.utils.rnn.unpad_sequence(batch, tl_core.tensor([2, 1]), batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Args:
        sequences (list of Tensor, each of shape (L, *)): The sequences.
        enforce_sorted (bool): Whether they must be sorted, the longest first. Otherwise they are sorted here.

    Example:
        >>> import tl_core, tl_nn
        >>> packed = tl_nn.utils.rnn.pack_sequence([tl_core.tensor([1, 2]), tl_core.tensor([3])])
        >>> packed.data
        tensor([1, 3, 2])
    """
    lengths = tl_core.tensor([sequence.size(0) for sequence in sequences], dtype=tl_core.int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed.

    Example:
        >>> import tl_core, tl_nn
        >>> rnn = tl_nn.utils.rnn
        >>> rnn.unpack_sequence(rnn.pack_sequence([tl_core.tensor([1, 2]), tl_core.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

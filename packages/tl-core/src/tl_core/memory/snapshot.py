"""What tensors hold at one moment, copied while the program goes on and changes them."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Sequence

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["Snapshot", "can_snapshot"]

_ALIGNMENT = 64


class Snapshot:
    """Copies of tensors as they are now.

    A copy of the process keeps what they hold, for which the system copies only the pages that the program writes to
    meanwhile, when it does. That process runs nothing of the program, and ends with it.

    Parameters:
        tensors : sequence of Tensor
            Such as `can_snapshot` takes.

    Raises:
        OSError
            If the system makes no other process.

    >>> tensor = _C.ones(3)
    >>> snapshot = Snapshot([tensor])
    >>> _ = tensor.zero_()
    >>> snapshot.fill()
    >>> snapshot.copies
    [tensor([1., 1., 1.])]
    """

    copies: list[Tensor]  # they hold what they should once `fill` has returned
    _source: tuple[int, int] | None = None

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.copies = _on_fresh_memory(tensors)
        self._source = _C._begin_snapshot(tensors)

    def fill(self) -> None:
        """Fills the copies; in whatever thread, but once.

        Raises:
            ChildProcessError
                If the copy of the process has been killed.
        """
        assert self._source is not None
        try:
            for copy in self.copies:
                _C._read_snapshot(*self._source, copy)
        except ChildProcessError as error:
            raise ChildProcessError(
                "the copy of the process was killed before its memory was copied"
            ) from error
        finally:
            self.close()

    def close(self) -> None:
        """Ends the copy of the process."""
        source, self._source = self._source, None
        if source is not None:
            _C._end_snapshot(*source)

    __del__ = close


def can_snapshot(tensor: Tensor) -> bool:
    """Whether a copy of the process has a tensor's memory as it is now, and its elements lie side by side there.

    Memory of devices, of files, of several processes and of other libraries isn't copied with the process, or need not
    be.
    """
    *_, device, _, is_own = _C._storage_facts(tensor)
    if device.type != "cpu" or not is_own or tensor.is_neg() or (tensor.is_complex() and tensor.is_conj()):
        return False
    reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return reach == tensor.numel()


def _on_fresh_memory(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors like these, on memory that no copy of the process has: to write to that would cost a fault a page."""
    begins, end = [], 0
    for tensor in tensors:
        begins.append(end)
        end += -(-tensor.numel() * tensor.itemsize // _ALIGNMENT) * _ALIGNMENT
    memory = mmap.mmap(-1, max(end, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # advice: nothing is wrong where the system doesn't take it
            memory.madvise(mmap.MADV_HUGEPAGE)
    flat = _C._from_buffer(memory)
    return [
        _C._with_storage(flat, t.dtype, t.shape, t.stride(), begin // t.itemsize)
        for t, begin in zip(tensors, begins, strict=True)
    ]

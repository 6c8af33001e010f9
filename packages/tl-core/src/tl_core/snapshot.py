"""What tensors hold at one moment, copied while the program goes on and changes them."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
from collections.abc import Sequence

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["Snapshot", "can_snapshot"]

_ALIGNMENT = 64


class Snapshot:
    """Copies of tensors as they are now.

    A copy of the process makes them, for which the system copies no memory at first: only the pages that the program
    writes to meanwhile, when it does. That process runs nothing of the program, and ends by itself.

    Parameters:
        tensors : sequence of Tensor
            Such as `can_snapshot` takes.

    Raises:
        OSError
            If the system has no room for the copies, or makes no other process.

    >>> tensor = _C.ones(3)
    >>> snapshot = Snapshot([tensor])
    >>> _ = tensor.zero_()
    >>> snapshot.wait()
    >>> snapshot.copies
    [tensor([1., 1., 1.])]
    """

    copies: list[Tensor]  # they hold what they should once `wait` has returned
    _process = 0

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.copies = _on_shared_memory(tensors)
        self._process = _C._begin_snapshot(self.copies, list(tensors))

    def wait(self) -> None:
        """Waits until the copies are complete.

        Raises:
            ChildProcessError
                If the process that makes them was killed.
        """
        process, self._process = self._process, 0
        status = _C._end_snapshot(process) if process else 0
        if status:
            code = os.waitstatus_to_exitcode(status)
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
            raise ChildProcessError(f"the process that copied the tensors ended with {how}")

    def __del__(self) -> None:
        if self._process:
            with contextlib.suppress(OSError):  # in a process that was forked meanwhile, it is no child
                _C._end_snapshot(self._process)


def can_snapshot(tensor: Tensor) -> bool:
    """Whether a copy of the process has a tensor's memory as it is now, and its elements lie side by side there.

    Memory of devices, of files, of several processes and of other libraries isn't copied with the process, or need not
    be.
    """
    *_, device, _, is_own, _ = _C._storage_facts(tensor)
    if device.type != "cpu" or not is_own or tensor.is_neg() or (tensor.is_complex() and tensor.is_conj()):
        return False
    reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return reach == tensor.numel()


def _on_shared_memory(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors like these, on memory that a copy of the process shares."""
    begins, end = [], 0
    for tensor in tensors:
        begins.append(end)
        end += -(-tensor.numel() * tensor.itemsize // _ALIGNMENT) * _ALIGNMENT
    memory = mmap.mmap(-1, max(end, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # advice: nothing is wrong where the system doesn't take it
            memory.madvise(mmap.MADV_HUGEPAGE)
    flat = _C._from_buffer(memory)
    return [
        _C._with_storage(flat, t.dtype, t.shape, t.stride(), begin // t.itemsize)
        for t, begin in zip(tensors, begins, strict=True)
    ]

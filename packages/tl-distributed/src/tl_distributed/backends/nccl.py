"""The backend `nccl`: collectives and messages of NVIDIA's library between devices.

tl has no tensors on NVIDIA's GPUs of its own. A plug-in that brings such a device has memory that the driver knows,
and the backend takes tensors of such memory. NCCL and the driver are loaded when the first group is made. The backend
ran on a library that a test compiles, and not on a device.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tl_core
from tl_core import Tensor

from ..base.errors import DistBackendError
from ..base.reduction import RedOpType
from ..base.work import Work
from .communicator import Communicator
from .cuda_driver import load_driver
from .group_context import GroupContext
from .nccl_library import IN_PROGRESS, NcclConfig, NcclId, load_nccl
from .nccl_watch import NcclWatch
from .nccl_work import NcclWork

__all__ = ["NcclBackend", "is_there"]

_TYPES = {
    "int8": 0, "uint8": 1, "bool": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
_BYTE = 1  # the type of copies
_OPERATIONS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}
_OF_BOOLS = {"SUM": 2, "MAX": 2, "PRODUCT": 3, "MIN": 3}  # true is one


def is_there() -> bool:
    """True if NCCL and NVIDIA's driver can be loaded."""
    try:
        load_nccl()
        load_driver()
    except (RuntimeError, DistBackendError):
        return False
    return True


class NcclBackend(Communicator):
    """The processes of a group as a communicator of NCCL, which is made with the first operation.

    Args:
        context: the group.

    Raises:
        RuntimeError: NCCL or NVIDIA's driver isn't there.
    """

    name = "nccl"

    def __init__(self, context: GroupContext):
        super().__init__(context)
        self.library = load_nccl()
        self.driver = load_driver()
        self._comm: ctypes.c_void_p | None = None
        self._stream: ctypes.c_void_p | None = None
        self._device = -1
        self._failure = ""
        self._lock = threading.RLock()
        self._watch: NcclWatch | None = None
        self._batch: list[tuple[list[tuple[Any, ...]], NcclWork]] | None = (
            None  # of messages that begin together
        )

    # ---- the communicator -----------------------------------------------------------------------------------

    def _connect(self, device: int) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        """The communicator and its stream."""
        self.driver.enter(device)
        if self._comm is None or self._stream is None:
            self._device = device
            self._stream = self.driver.stream()
            self._comm = self._make_communicator()
            self._watch = NcclWatch(
                self.context.store, self.rank, self.context.global_ranks, self._library_error, self._fail
            )
        if device != self._device:
            raise DistBackendError(
                f"the group {self.context.name} uses device {self._device} here, and the tensor is on device {device}"
            )
        return self._comm, self._stream

    def _make_communicator(self) -> ctypes.c_void_p:
        store, unique = self.context.store, NcclId()
        if self.rank == 0:
            self.library.call("ncclGetUniqueId", ctypes.byref(unique))
            store.set("id", bytes(unique.internal))
        ctypes.memmove(ctypes.byref(unique), store.get("id"), ctypes.sizeof(unique))
        store.set(f"here {self.rank}", "")
        comm, config = ctypes.c_void_p(), NcclConfig.without_blocking()
        end = time.monotonic() + self.timeout.total_seconds()

        def check() -> None:
            if time.monotonic() <= end:
                return
            self.library.call("ncclCommAbort", comm)
            limit = self.timeout.total_seconds()
            raise DistBackendError(
                f"rank {self._global(self.rank)} reached its timeout of {limit:g} s in the set-up of group "
                f"{self.context.name}, waiting for {self._absent()}"
            )

        arguments = (ctypes.byref(comm), self.size, unique, self.rank, ctypes.byref(config))
        self.library.call("ncclCommInitRankConfig", *arguments, comm=comm, check=check)
        return comm

    def _absent(self) -> str:
        absent = [rank for rank in range(self.size) if not self.context.store.check([f"here {rank}"])]
        return f"rank {', '.join(str(self._global(rank)) for rank in absent)}" if absent else "NCCL"

    def _global(self, rank: int) -> int:
        return self.context.global_ranks[rank]

    # ---- operations -----------------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        dense, (count, kind) = tensor.contiguous(), _numbers(tensor, op)
        address, operation = dense.data_ptr(), _operation(tensor, op)
        return self._start(
            "all_reduce", dense, ("ncclAllReduce", address, address, count, kind, operation), [tensor],
            _copy_back(tensor, dense),
        )  # fmt: skip

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        dense, (count, kind) = tensor.contiguous(), _numbers(tensor, op)
        address, operation = dense.data_ptr(), _operation(tensor, op)
        return self._start(
            "reduce", dense, ("ncclReduce", address, address, count, kind, operation, root), [tensor],
            _copy_back(tensor, dense) if root == self.rank else None,
        )  # fmt: skip

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        dense = tensor.contiguous()
        address = dense.data_ptr()
        return self._start(
            "broadcast", dense, ("ncclBroadcast", address, address, dense.nbytes, _BYTE, root), [tensor],
            _copy_back(tensor, dense),
        )  # fmt: skip

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        table = tensor.new_empty((self.size, *tensor.shape))
        return self._all_gather(table, tensor, list(outputs), lambda: _spread(table, outputs))

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        if not output.is_contiguous():
            return super().all_gather_single(output, tensor)
        return self._all_gather(output, tensor, [output], None)

    def _all_gather(
        self, table: Tensor, tensor: Tensor, result: list[Tensor], after: Callable[[], object] | None
    ) -> Work:
        dense = tensor.contiguous()
        call = ("ncclAllGather", dense.data_ptr(), table.data_ptr(), dense.nbytes, _BYTE)
        return self._start("all_gather", dense, call, result, after)

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        return self.reduce_scatter_single(output, tl_core.stack(list(tensors)), op)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: RedOpType) -> Work:
        table, part = tensor.contiguous(), output.contiguous()
        count, kind = _numbers(output, op)
        operation = _operation(output, op)
        return self._start(
            "reduce_scatter", table,
            ("ncclReduceScatter", table.data_ptr(), part.data_ptr(), count, kind, operation), [output],
            _copy_back(output, part),
        )  # fmt: skip

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        dense = tensor.contiguous()
        table = tensor.new_empty((self.size, *tensor.shape)) if outputs else None
        calls = [self._message("ncclSend", dense, root)]
        if table is not None:
            calls += [self._message("ncclRecv", row, peer) for peer, row in enumerate(table.unbind(0))]
        after = None if table is None else lambda: _spread(table, outputs)
        return self._start_group("gather", dense, calls, list(outputs), after)

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        part = output.contiguous()
        dense = [tensor.contiguous() for tensor in tensors]
        calls = [self._message("ncclSend", each, peer) for peer, each in enumerate(dense)]
        calls.append(self._message("ncclRecv", part, root))
        return self._start_group("scatter", part, calls, [output], _copy_back(output, part), dense)

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        inputs = [tensor.contiguous() for tensor in tensors]
        results = [output.contiguous() for output in outputs]
        calls = [self._message("ncclSend", each, peer) for peer, each in enumerate(inputs)]
        calls += [self._message("ncclRecv", each, peer) for peer, each in enumerate(results)]
        after = lambda: _spread(results, outputs)  # noqa: E731
        return self._start_group("all_to_all", inputs[0], calls, list(outputs), after, inputs)

    def barrier(self) -> Work:
        """A sum of one byte. It ends when this method returns, because its memory does."""
        device = self._device if self._device >= 0 else int(os.environ.get("LOCAL_RANK", "0"))
        with self._lock:
            self.driver.enter(device)
            with self.driver.memory(1) as address:
                self._enqueue(
                    "barrier", device, [("ncclAllReduce", address, address, 1, _BYTE, 2)], [], [], None
                ).wait()
        return Work()

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        dense = tensor.contiguous()
        return self._start("send", dense, self._message("ncclSend", dense, peer), [tensor], None)

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        if peer is None:
            self._refuse("recv of any rank")
        dense = tensor.contiguous()
        call = self._message("ncclRecv", dense, peer)
        return self._start("recv", dense, call, [tensor], _copy_back(tensor, dense))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Messages of the block begin together at its end, so that none waits for another one."""
        with self._lock:
            operations = self._batch = []
            try:
                yield
            finally:
                self._batch = None
            if operations:
                self._launch("messages", operations)

    def abort(self) -> None:
        """Makes what is under way fail on every process."""
        self._publish(f"rank {self._global(self.rank)} aborted the group {self.context.name}")

    def _publish(self, text: str) -> None:
        self._fail(text if self._watch is None else self._watch.publish(text))

    def close(self) -> None:
        """Ends the communicator after what is under way."""
        with self._lock:
            if self._watch is not None:
                self._watch.stop()
            if self._comm is None or self._failure:
                return
            self.driver.enter(self._device)
            try:
                self.library.call("ncclCommFinalize", self._comm, comm=self._comm)
                self.library.call("ncclCommDestroy", self._comm)
            finally:
                self._comm = None
            if self._stream is not None:
                self.driver.close_stream(self._stream)

    # ---- calls ----------------------------------------------------------------------------------------------

    @staticmethod
    def _message(name: str, tensor: Tensor, peer: int) -> tuple[Any, ...]:
        return (name, tensor.data_ptr(), tensor.nbytes, _BYTE, peer)

    def _start(
        self,
        what: str,
        tensor: Tensor,
        call: tuple[Any, ...],
        result: list[Tensor],
        after: Callable[[], object] | None,
    ) -> Work:
        return self._start_group(what, tensor, [call], result, after)

    def _start_group(
        self,
        what: str,
        tensor: Tensor,
        calls: list[tuple[Any, ...]],
        result: list[Tensor],
        after: Callable[[], object] | None,
        inputs: Sequence[Tensor] = (),
    ) -> Work:
        device = self.driver.device_of(tensor.data_ptr()) if tensor.numel() else max(self._device, 0)
        if device is None:
            raise ValueError(f"{what}: the backend 'nccl' needs tensors on a GPU, got one on {tensor.device}")
        with self._lock:
            return self._enqueue(what, device, calls, result, [tensor, *inputs], after)

    def _enqueue(
        self,
        what: str,
        device: int,
        calls: list[tuple[Any, ...]],
        result: list[Tensor],
        inputs: list[Tensor],
        after: Callable[[], object] | None,
    ) -> NcclWork:
        text = f"{what} of group {self.context.name}"
        work = NcclWork(self, device, text, result, inputs, after)
        if self._batch is None:
            self._launch(what, [(calls, work)])
        else:
            self._batch.append((calls, work))
        return work

    def _launch(self, what: str, operations: list[tuple[list[tuple[Any, ...]], NcclWork]]) -> None:
        """Puts calls into the stream, behind what the default stream has to do. An error fails the group."""
        self.check_failed(what)
        comm, stream = self._connect(operations[0][1].device)
        try:
            self._call(what, operations, comm, stream)
        except DistBackendError as error:
            if not self._failure:
                self._publish(f"rank {self._global(self.rank)}: {error}")
            raise

    def _call(
        self, what: str, operations: list[tuple[list[tuple[Any, ...]], NcclWork]], comm: Any, stream: Any
    ) -> None:
        self.driver.follow(stream)
        check = lambda: self.check_failed(what)  # noqa: E731
        calls = [call for several, _ in operations for call in several]
        if len(calls) > 1:
            self.library.call("ncclGroupStart")
        for name, *arguments in calls:
            waits_for = comm if len(calls) == 1 else None  # a call of a group goes on until its end
            self.library.call(name, *arguments, comm, stream, comm=waits_for, check=check)
        if len(calls) > 1:
            self.library.call("ncclGroupEnd", comm=comm, check=check)
        for _, work in operations:
            work.event = self.driver.record(stream)
            if self._watch is not None:
                self._watch.add(work)

    # ---- failures -------------------------------------------------------------------------------------------

    def check_failed(self, what: str) -> None:
        """Raises the first failure of the group.

        Args:
            what: the operation that would begin or go on.

        Raises:
            DistBackendError: the group has failed.
        """
        if self._failure:
            raise DistBackendError(f"{what}: the group {self.context.name} has failed: {self._failure}")

    def time_out(self, what: str, seconds: float) -> DistBackendError:
        """The error of a wait that is longer than its caller allows; the group goes on.

        Args:
            what: the operation.
            seconds: the limit.
        """
        return DistBackendError(f"{what} was not over after {seconds:g} s")

    def _library_error(self) -> str:
        comm = self._comm
        if comm is None:
            return ""
        state = self.library.state(comm)
        if state in (0, IN_PROGRESS):
            return ""
        return f"rank {self._global(self.rank)}: {self.library.text(state, comm)}"

    def _fail(self, text: str) -> None:
        """The group fails. An abort ends what is under way, so that no wait lasts."""
        self._failure = self._failure or text
        comm, self._comm = self._comm, None
        if comm is not None:
            self.driver.enter(self._device)
            self.library.call("ncclCommAbort", comm)


def _numbers(tensor: Tensor, op: RedOpType) -> tuple[int, int]:
    """How many numbers of which type NCCL reduces."""
    name = str(tensor.dtype).rpartition(".")[2]
    if tensor.dtype.is_complex and op.name in ("SUM", "AVG"):
        return 2 * tensor.numel(), _TYPES["float32" if name == "complex64" else "float64"]
    if name not in _TYPES:
        raise TypeError(f"the backend 'nccl' can't reduce tensors of {tensor.dtype}")
    return tensor.numel(), _TYPES[name]


def _operation(tensor: Tensor, op: RedOpType) -> int:
    operations = _OF_BOOLS if tensor.dtype == tl_core.bool else _OPERATIONS
    if op.name not in operations:
        raise ValueError(f"Cannot use ReduceOp.{op.name} with NCCL for tensors of {tensor.dtype}")
    return operations[op.name]


def _copy_back(tensor: Tensor, dense: Tensor) -> Callable[[], object] | None:
    return None if dense is tensor else lambda: tensor.copy_(dense)


def _spread(parts: Tensor | Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    for part, output in zip(parts, outputs, strict=True):
        if part is not output:
            output.copy_(part)

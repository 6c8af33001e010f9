"""Worker loop of the DataLoader: receives requests for numbered batches, sends responses."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

import tl_core
from tl_core import Tensor
from tl_core.base import recording

from . import collate as collation
from . import interrupts, randomness, spool
from .arena import Descriptor, Region
from .failure import Failure
from .fetch import fetcher
from .info import WorkerInfo, set_process_info
from .messages import SMALL, encode

if TYPE_CHECKING:
    from .program_state import ProgramState

__all__ = ["Response", "WorkerConfig", "Server", "run"]

BATCH, FAILED, ENDED, REFUSED = "batch", "failed", "ended", "refused"


class WorkerConfig(NamedTuple):
    """Configuration of all workers of a loader: the dataset, and how batches are collated.

    Args:
        dataset: the map-style or iterable-style dataset.
        batching: whether keys come in batches.
        collate_fn: function of a list of samples that returns the batch.
        drop_last: whether a last smaller batch is dropped.
        worker_init_fn: called with the worker's number when it starts; None for none.
        num_workers: the number of workers.
        base_seed: the seed of worker 0; the others count on from it.
        iterable: whether the dataset is iterable-style.
    """

    dataset: Any
    batching: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None
    num_workers: int
    base_seed: int
    iterable: bool


class Response(NamedTuple):
    """Response of a worker to a request.

    Args:
        epoch_id: the epoch of the request.
        number: the number of the request.
        kind: BATCH, FAILED, ENDED or REFUSED.
        value: the batch or the failure.
        stream: the state of an iterable-style dataset after this batch, or None.
        span: the pid of the worker process, and the begin and end of its work; None in a thread.
        differences: the values that differ from the program's; None except in the first response of a fresh process.
    """

    epoch_id: int
    number: int
    kind: str
    value: Any = None
    stream: dict[str, Any] | None = None
    span: tuple[int, int, int] | None = None
    differences: list[tuple[str, str, str, str]] | None = None


class Server:
    """Worker in a process or a thread: its configuration, its fetcher and its responses.

    Args:
        config: the configuration of the workers.
        worker_id: the number of the worker.
        where: the name of the worker in errors.
    """

    def __init__(self, config: WorkerConfig, worker_id: int, where: str) -> None:
        self._config, self._id, self._where = config, worker_id, where
        self._failure: Failure | None = None
        self._fetcher: Any = None
        self._epoch = 0
        self.collate: Callable[[Any], Any] | None = None  # in place of `default_collate`

    def initialize(self) -> None:
        """Calls `worker_init_fn`; its error is the response to all requests."""
        try:
            if self._config.worker_init_fn is not None:
                self._config.worker_init_fn(self._id)
        except Exception as error:
            self._failure = Failure.caught(error, self._where)

    def begin(self, epoch: int, stream: dict[str, Any] | None) -> None:
        """Begins or resumes an epoch."""
        self._epoch = epoch
        if self._failure is not None:
            return
        config = self._config
        try:
            self._fetcher = fetcher(
                config.dataset, config.batching, config.collate_fn, config.drop_last, config.iterable, stream
            )
            if self.collate is not None and config.collate_fn is collation.default_collate:
                self._fetcher.collate = self.collate
        except Exception as error:
            self._failure = Failure.caught(error, self._where)

    def respond(self, epoch_id: int, number: int, keys: Any) -> Response:
        """The batch of some keys, or the failure."""
        if self._failure is not None:
            return Response(epoch_id, number, FAILED, self._failure)
        randomness.set_epoch(self._epoch)
        try:
            batch = self._fetcher.fetch(keys)
            stream = self._fetcher.state() if self._config.iterable else None
            return Response(epoch_id, number, BATCH, batch, stream)
        except Exception as error:
            if self._config.iterable and isinstance(error, StopIteration):
                return Response(epoch_id, number, ENDED)
            return self.failure_response(epoch_id, number, error)

    def failure_response(self, epoch_id: int, number: int, error: Exception) -> Response:
        """The response for an exception."""
        return Response(epoch_id, number, FAILED, Failure.caught(error, self._where))


def run(
    payload: WorkerConfig | Descriptor,
    worker_id: int,
    connection: Connection,
    descriptor: Descriptor,
    start: int,
    size: int,
    inherited: Sequence[Connection],
    state: ProgramState | None,
) -> None:
    """The main function of a worker process.

    Args:
        payload: the configuration, or the descriptor of its pickle.
        worker_id: the number of the worker.
        connection: the pipe to the program.
        descriptor: the file descriptor of the shared memory.
        start: begin of this worker's region, in bytes.
        size: length of the region, in bytes.
        inherited: the program's ends of pipes, which the worker closes.
        state: settings of the program; None in a forked worker, which has them.
    """
    for other in inherited:
        other.close()
    interrupts.ignore()
    _end_with_parent()
    if state is not None:
        state.restore()
    tl_core.set_num_threads(1)
    region = Region(descriptor, start, size)
    where = f"DataLoader worker process {worker_id}"
    try:
        config: WorkerConfig = spool.read(payload) if isinstance(payload, Descriptor) else payload
    except Exception as error:
        _refuse(connection, Failure.caught(error, where))
        return
    seed = randomness.seed_worker(config.base_seed, worker_id)
    set_process_info(WorkerInfo(worker_id, config.num_workers, seed, config.dataset))
    server = Server(config, worker_id, where)
    server.collate = functools.partial(_collate_in_place, region)
    server.initialize()
    _serve(server, connection, region, state.differences() if state is not None and worker_id == 0 else None)


def _refuse(connection: Connection, failure: Failure) -> None:
    """Responds to every request with the failure of this worker's start."""
    while (request := _receive(connection)) is not None:
        kind, epoch_id, number, *_ = request
        if kind == "fetch":
            _send(connection, encode(Response(epoch_id, number, REFUSED, failure), None))


def _serve(server: Server, connection: Connection, region: Region, differences: Any) -> None:
    while (request := _receive(connection)) is not None:
        kind, epoch_id, number, content, released = request
        region.release(released)
        if kind == "begin":
            server.begin(number, content)
            continue
        began = recording.clock()
        response = server.respond(epoch_id, number, content)
        response = response._replace(span=(os.getpid(), began, recording.clock()), differences=differences)
        differences = None
        try:
            data = encode(response, region)
        except Exception as error:
            error.add_note(f"while the batch of {content!r} was pickled")
            data = encode(server.failure_response(epoch_id, number, error), None)
        del response
        region.discard_unsent()
        if not _send(connection, data):
            return


def _receive(connection: Connection) -> Any:
    """The next request; None if the program has closed its end."""
    try:
        return pickle.loads(connection.recv_bytes())
    except (EOFError, ConnectionResetError):
        return None


def _send(connection: Connection, data: bytes) -> bool:
    try:
        connection.send_bytes(data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _end_with_parent() -> None:
    """Ends the process with its parent, even if the dataset hangs."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="tl_data watches its parent", daemon=True).start()


def _collate_in_place(region: Region, batch: Any) -> Any:
    """`default_collate` with tensors in the worker's region of shared memory."""
    collation.know_numpy()
    table = dict(collation.default_collate_fn_map)
    own: list[tuple[Any, Any]] = [
        (collation.collate_tensor_fn, _stack),
        (collation.collate_numpy_array_fn, _join),
    ]
    for key, function in table.items():
        for plain, in_place in own:
            if function is plain:
                table[key] = functools.partial(in_place, region)
    return collation.collate(batch, collate_fn_map=table)


def _stack(region: Region, batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    first = batch[0]
    if set(map(type, batch)) == {Tensor} and len({t.dtype for t in batch}) == 1 and not first.requires_grad:
        out = _room(region, (len(batch), *first.shape), first.dtype)
        if out is not None and all(t.shape == first.shape for t in batch):
            return tl_core.stack(tuple(batch), 0, out=out)
    return collation.collate_tensor_fn(batch)


def _join(region: Region, batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    first = batch[0]
    if first.dtype.kind in "biufc" and first.dtype.isnative and first.ndim > 0:
        out = _room(region, (len(batch), *first.shape), tl_core.as_tensor(first[:0]).dtype)
        if out is not None and collation.join_arrays(batch, out=out.numpy()) is not None:
            return out
    return collation.collate_numpy_array_fn(batch, collate_fn_map=collation.default_collate_fn_map)


def _room(region: Region, shape: tuple[int, ...], dtype: Any) -> Tensor | None:
    size = dtype.itemsize
    for n in shape:
        size *= n
    return region.tensor(shape, dtype) if size >= SMALL else None

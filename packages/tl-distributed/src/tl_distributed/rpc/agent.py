"""The agent of a worker: it sends calls to other workers and runs theirs."""

from __future__ import annotations

import itertools
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from tl_core import Tensor
from tl_core.futures import Future

from ..stores.store import Store
from . import connection as connections
from . import current, failures, gradient_link, thread_context
from .connection import Connection
from .deadlines import Deadlines
from .functions import is_async
from .options import TensorPipeRpcBackendOptions
from .pickling import deserialize, serialize
from .reception import Reception
from .roster import Roster
from .threads import Job, Threads, Turn
from .wire import FAILURE, INTERNAL, REQUEST, RESPONSE, Frame
from .worker_info import WorkerInfo

Part = TypeVar("Part")
_ANSWERS_WITHIN = 5.0
_SLICE = 100  # milliseconds after which a wait looks whether its call has failed


class Agent:
    """Sends calls to other workers and runs theirs.

    Args:
        store: where the workers meet; of this job and round alone.
        name: of this worker.
        rank: its number; -1 for the next free one, in a job without a fixed size.
        world_size: the number of workers; None if workers may come and go.
        options: the settings.

    Raises:
        RuntimeError: the name or the number is another worker's.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        rank: int,
        world_size: int | None,
        options: TensorPipeRpcBackendOptions,
    ):
        self.options, self.timeout = options, options.rpc_timeout
        self.roster = Roster(store, name, rank, world_size)
        self.info = self.roster.info
        self.threads = Threads(f"rpc {name}", self._enter_thread)
        self.is_over = False
        self._calls = _Calls(self)
        self._connections: dict[int, Connection] = {}
        self._incoming: dict[int, Connection] = {}
        self._connecting = threading.Lock()
        self._running = 0
        self._unanswered: set[int] = set()
        self._waiting: deque[Job] = deque()
        self._room = threading.Lock()
        self._parts: dict[Callable[[Any], Any], Any] = {}
        self.lost: dict[int, Exception] = {}
        self.listeners: list[Callable[[int, Exception], None]] = []
        self.reception = Reception(
            self.roster.addresses(), self.info.id, self.roster.token, self.threads, self._welcome
        )

    def begin(self) -> None:
        """Answers calls, and waits until all workers are there.

        Raises:
            RuntimeError: not all came, or two have one name.
        """
        self.reception.start()
        self.threads.start()
        self.roster.join(self.reception.names())
        if self.roster.is_complete:
            self._hold_connection(self.roster.first())

    def _enter_thread(self) -> None:
        current.enter(self)

    def part(self, kind: Callable[[Any], Part]) -> Part:
        """A part of this worker that another module has: made when it is first asked for.

        Args:
            kind: its class, which takes the agent.
        """
        if kind not in self._parts:
            self._parts.setdefault(kind, kind(self))
        part: Part = self._parts[kind]
        return part

    # What the other workers are called.

    def get_worker_info(self, name: str | None = None) -> WorkerInfo:
        """The worker of a name; this one without a name."""
        return self.info if name is None else self.roster.find(name)

    def get_worker_infos(self) -> list[WorkerInfo]:
        """All workers."""
        return self.roster.all()

    def get_debug_info(self) -> dict[str, str]:
        """Counts of the agent, as texts."""
        return _counts(self, self._calls.count(), self._running)

    # Calls to other workers.

    def call(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        timeout: float = -1.0,
        internal: bool = False,
    ) -> Future[Any]:
        """Starts a call in another worker, or in this one.

        Args:
            to: the worker.
            function: a function that the worker can import.
            args: its arguments.
            kwargs: its arguments by name.
            timeout: the seconds that the call may take, 0 for any number, -1 for the agent's.
            internal: whether the call is the package's own, which no limit of threads delays.

        Returns:
            The result, or the error, once it is there.
        """
        if self.is_over:
            raise RuntimeError(f"{self.info.name}: the agent of remote calls was shut down")
        return self._send(to, function, args, kwargs, timeout, internal)[1]

    def call_and_wait(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        timeout: float = -1.0,
    ) -> Any:
        """Calls a function in another worker; this thread reads the answer itself if no other one reads.

        Args:
            to: the worker.
            function: a function that the worker can import.
            args: its arguments.
            kwargs: its arguments by name.
            timeout: the seconds that the call may take, 0 for any number, -1 for the agent's.

        Returns:
            The result.
        """
        connection, future = self._send(to, function, args, kwargs, timeout, False)
        if connection is not None and connection.reading.acquire(False):
            self._read_until(connection, future)
        return future.wait()

    def _read_until(self, connection: Connection, future: Future[Any]) -> None:
        """Reads answers in this thread, which has `connection.reading`, until a future is done."""
        descriptor = connection.link.fileno()
        if descriptor < 0:
            connection.reading.release()
            return
        self.threads.pause(descriptor)
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        is_whole = True
        try:
            while not future.done() and connection.is_open:
                if not poller.poll(_SLICE):
                    continue
                is_whole = False
                frame = connection.receive()
                is_whole = True
                self._calls.answer(frame, future)
        except OSError as error:
            self._lose(connection, error)
        finally:
            connection.reading.release()
            if not is_whole:
                connection.end()  # a part of a message was read
            if connection.is_open:
                self.threads.resume(descriptor)

    def _send(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        timeout: float,
        internal: bool,
    ) -> tuple[Connection | None, Future[Any]]:
        if self.is_over:
            raise RuntimeError(f"{self.info.name}: the agent of remote calls was shut down")
        content, tensors = serialize((function, tuple(args), dict(kwargs or {})))
        flags = INTERNAL if internal else 0
        if thread_context.context_id() is not None:
            mark = gradient_link.outgoing(self, to.id, tensors)
            content, _ = serialize((content, mark))
            flags |= gradient_link.MARKED
        limit = self.timeout if timeout < 0 else timeout
        number, future = self._calls.open(to, limit)
        frame = Frame(REQUEST, flags, number, content, tensors)
        connection = None
        try:
            if to.id == self.info.id:
                self.threads.submit(lambda: self._run_request(None, frame))
            else:
                connection = self._connection(to)
                connection.send(frame)
        except OSError as error:
            self._calls.fail(number, failures.unreachable(self.info, to, error))
        return connection, future

    def _connection(self, to: WorkerInfo) -> Connection:
        connection = self._connections.get(to.id)
        if connection is not None and connection.is_open:
            return connection
        with self._connecting:
            connection = self._connections.get(to.id)
            if connection is None or not connection.is_open:
                connection = connections.connect(
                    self.roster.address(to), self.info.id, to.id, self.roster.token
                )
                self._connections[to.id] = connection
                self._watch(connection)
        return connection

    def _hold_connection(self, to: WorkerInfo) -> None:
        """Connects to a worker, so that each of the two hears of the other's end."""
        if to.id != self.info.id:
            try:
                self._connection(to)
            except OSError as error:
                raise failures.unreachable(self.info, to, error) from error

    # What comes.

    def _welcome(self, connection: Connection) -> None:
        self._incoming[connection.link.fileno()] = connection
        self.lost.pop(connection.worker, None)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        self.threads.watch(connection.link.fileno(), partial(self._read, connection))

    def _read(self, connection: Connection, turn: Turn) -> None:
        if not connection.reading.acquire(False):
            return  # the thread that reads goes on with the watch
        try:
            frame = connection.receive(turn.release)
        except (OSError, ValueError, MemoryError) as error:
            turn.release()
            self._lose(connection, error)
            return
        finally:
            connection.reading.release()
        call = None if frame.kind == REQUEST else self._calls.take(frame)
        if connection.is_open:
            self.threads.resume(connection.link.fileno())
        turn.release()
        if frame.kind == REQUEST:
            self._run_request(connection, frame)
        elif call is not None:
            self._calls.finish(call, frame)

    def _lose(self, connection: Connection, error: Exception) -> None:
        """Ends a connection, and the calls that wait for it."""
        connection.end()
        with suppress(OSError, ValueError):
            self.threads.forget(connection.link.fileno())
        if connection.is_own:
            if self._connections.get(connection.worker) is connection:
                del self._connections[connection.worker]
            self._calls.lose(connection.worker, error)
        else:
            self._incoming.pop(connection.link.fileno(), None)
        connection.link.close()
        open_connections = [*self._connections.values(), *self._incoming.values()]
        if not self.is_over and not any(each.worker == connection.worker for each in open_connections):
            self.lost[connection.worker] = error
            for listener in list(self.listeners):
                listener(connection.worker, error)

    # Calls of other workers.

    def _run_request(self, connection: Connection | None, frame: Frame) -> None:
        if frame.flags & INTERNAL:
            self._execute(connection, frame)
            return
        with self._room:
            if self._running >= self.options.num_worker_threads:
                self._waiting.append(partial(self._execute, connection, frame))
                return
            self._running += 1
        job: Job | None = partial(self._execute, connection, frame)
        while job is not None:
            try:
                job()
            finally:
                with self._room:
                    job = self._waiting.popleft() if self._waiting else None
                    if job is None:
                        self._running -= 1

    def _execute(self, connection: Connection | None, frame: Frame) -> None:
        caller = self.info.id if connection is None else connection.worker
        self._unanswered.add(id(frame))
        mark: Any = None
        try:
            content: Any = frame.content
            if frame.flags & gradient_link.MARKED:
                content, mark = deserialize(content, ())
                with thread_context.in_context(mark):
                    tensors = gradient_link.incoming(self, caller, mark, frame.tensors)
                    self._call(connection, frame, caller, mark, content, tensors)
            else:
                self._call(connection, frame, caller, mark, content, frame.tensors)
        except Exception as error:
            self._reply_failure(connection, frame, error)

    def _call(
        self,
        connection: Connection | None,
        frame: Frame,
        caller: int,
        mark: Any,
        content: Any,
        tensors: Sequence[Tensor],
    ) -> None:
        function, args, kwargs = failures.load(self.info, content, tensors)
        result = function(*args, **kwargs)
        if is_async(function):
            self._reply_later(connection, frame, caller, mark, function, result)
        else:
            self._reply(connection, frame, caller, result)

    def _reply_later(
        self,
        connection: Connection | None,
        frame: Frame,
        caller: int,
        mark: Any,
        function: Callable[..., Any],
        result: Any,
    ) -> None:
        if not isinstance(result, Future):
            raise RuntimeError(
                "Functions decorated with @rpc.async_function must return a torch.futures.Future object, but "
                f"{getattr(function, '__qualname__', function)} returned a {type(result).__name__}"
            )

        def reply(done: Future[Any]) -> None:
            try:
                with thread_context.in_context(mark):
                    self._reply(connection, frame, caller, done.value())
            except Exception as error:
                self._reply_failure(connection, frame, error)

        result.add_done_callback(reply)

    def _reply(self, connection: Connection | None, frame: Frame, caller: int, result: Any) -> None:
        try:
            content, tensors = serialize(result)
        except Exception as error:
            raise failures.unsent(self.info, result, error) from error
        flags = 0
        if thread_context.context_id() is not None:
            content, _ = serialize((content, gradient_link.outgoing(self, caller, tensors)))
            flags = gradient_link.MARKED
        self._send_back(connection, frame, Frame(RESPONSE, flags, frame.number, content, tensors))

    def _reply_failure(self, connection: Connection | None, frame: Frame, error: Exception) -> None:
        self._send_back(
            connection, frame, Frame(FAILURE, 0, frame.number, failures.pack(self.info, error), ())
        )

    def _send_back(self, connection: Connection | None, request: Frame, frame: Frame) -> None:
        try:
            self._send_answer(connection, frame)
        finally:
            self._unanswered.discard(id(request))

    def _send_answer(self, connection: Connection | None, frame: Frame) -> None:
        if connection is None:
            return self._calls.answer(frame)
        with suppress(OSError):  # the caller is gone, and with it whoever would read the error
            connection.send(frame)

    # The end.

    def wait_until_idle(self, deadline: float | None) -> None:
        """Waits until no call of this worker or in it is open.

        Args:
            deadline: until when, by the monotonic clock; None for any time.
        """
        while self._calls.count() or self._running or self._waiting:
            if deadline is not None and time.monotonic() > deadline:
                return
            time.sleep(0.001)

    def wait_until_answered(self) -> None:
        """Waits until the answers to all calls in this worker are sent, or for some seconds."""
        deadline = time.monotonic() + _ANSWERS_WITHIN
        while self._unanswered and time.monotonic() < deadline:
            time.sleep(0.0005)

    def shutdown(self) -> None:
        """Ends all connections and threads, and fails the calls that are open."""
        self.is_over = True
        self.reception.stop()
        for each in [*self._connections.values(), *self._incoming.values()]:
            each.end()
        self._calls.end()
        self.threads.stop()
        self.threads.join(1.0)
        for each in [*self._connections.values(), *self._incoming.values()]:
            each.link.close()
        self.reception.close()
        self.roster.leave()


class _Calls:
    """The calls of a worker that have no answer yet."""

    def __init__(self, agent: Agent):
        self._agent = agent
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[Future[Any], WorkerInfo]] = {}
        self._deadlines = Deadlines(self._expire)
        self._pid = os.getpid()

    def count(self) -> int:
        return len(self._open)

    def open(self, to: WorkerInfo, limit: float) -> tuple[int, Future[Any]]:
        if os.getpid() != self._pid:
            raise RuntimeError("remote calls don't work in a process that was forked after rpc.init_rpc()")
        number = next(self._numbers)
        future: Future[Any] = Future()
        self._open[number] = future, to
        if limit > 0:
            self._deadlines.add(number, limit)
        return number, future

    def take(self, frame: Frame) -> tuple[Future[Any], WorkerInfo] | None:
        """Closes the call of an answer; None if the answer came too late.

        The thread that has read the answer does so before it resumes the watch. Otherwise another thread could read the
        end of the connection, and fail the call.
        """
        return self._open.pop(frame.number, None)

    def answer(self, frame: Frame, expected: Future[Any] | None = None) -> None:
        """Sets the future of an answer. A thread that waits for one leaves those with callbacks to others."""
        call = self.take(frame)
        if call is None:
            return
        if expected is not None and call[0] is not expected and call[0]._callbacks:
            self._agent.threads.submit(lambda: self.finish(call, frame))
        else:
            self.finish(call, frame)

    def finish(self, call: tuple[Future[Any], WorkerInfo], frame: Frame) -> None:
        """Sets the future of a call that was closed."""
        future, to = call
        try:
            if frame.kind == FAILURE:
                future.set_exception(failures.unpack(frame.content))
                return
            content: Any = frame.content
            mark: Any = None
            tensors = frame.tensors
            if frame.flags & gradient_link.MARKED:
                content, mark = deserialize(content, ())
                tensors = gradient_link.incoming(self._agent, to.id, mark, tensors)
            value = deserialize(content, tensors)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(value)

    def fail(self, number: int, error: Exception) -> None:
        opened = self._open.pop(number, None)
        if opened is not None:
            opened[0].set_exception(error)

    def lose(self, worker: int, error: Exception) -> None:
        for number, (_, to) in list(self._open.items()):
            if to.id == worker:
                self.fail(number, failures.ended(self._agent.info, to, error))

    def end(self) -> None:
        self._deadlines.stop()
        for number in list(self._open):
            self.fail(number, RuntimeError(f"{self._agent.info.name}: rpc.shutdown() ended the call"))

    def _expire(self, number: int, limit: float) -> None:
        opened = self._open.get(number)
        if opened is not None:
            self.fail(number, failures.late(self._agent.info, opened[1], limit))


def _counts(agent: Agent, calls: int, running: int) -> dict[str, str]:
    threads = agent.options.num_worker_threads
    return {
        "agent.num_pending_requests": str(calls),
        "agent.client_active_calls": str(calls),
        "agent.server_active_calls": str(running),
        "agent.thread_pool_size": str(threads),
        "agent.num_idle_threads": str(threads - running),
    }

"""Calls of functions in other workers."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from tl_core.futures import Future, wait_all

from . import constants, current, gathering, internal, references
from .agent import Agent
from .constants import DEFAULT_SHUTDOWN_TIMEOUT as DEFAULT_SHUTDOWN_TIMEOUT
from .constants import UNSET_RPC_TIMEOUT as UNSET_RPC_TIMEOUT
from .functions import async_execution as async_execution
from .references import PyRRef as PyRRef
from .references import RRef, User
from .worker_info import WorkerInfo

__all__ = ["get_worker_info", "remote", "rpc_async", "rpc_sync", "shutdown"]

R = TypeVar("R")
P = ParamSpec("P")
_ignore_rref_leak = True
_default_pickler: Any = internal._internal_rpc_pickler


class _Thread(threading.local):
    futures: list[Future[Any]] | None = None


_thread_local_var = _Thread()


def _get_current_rpc_agent() -> Agent:
    """The agent of this process."""
    return current.current()


def _is_current_rpc_agent_set() -> bool:
    return current.is_set()


def _require_initialized(func: Callable[P, R]) -> Callable[P, R]:
    """A function that raises before `init_rpc`."""

    @functools.wraps(func)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not current.is_set():
            raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
        return func(*args, **kwargs)

    return call


def _set_and_start_rpc_agent(agent: Any) -> None:
    current.set_current(agent)


def _set_rpc_timeout(timeout: float) -> None:
    """Sets the seconds that a call may take if it says nothing itself."""
    current.current().timeout = float(timeout)


def get_rpc_timeout() -> float:
    """The seconds that a call may take if it says nothing itself."""
    return current.current().timeout


def enable_gil_profiling(flag: bool) -> None:
    """Switches the measurement of waits for the interpreter's lock, which tl lacks.

    Raises:
        NotImplementedError: `flag` is true.
    """
    if flag:
        raise NotImplementedError(
            "enable_gil_profiling(): tl doesn't measure the waits of remote calls for the interpreter's lock"
        )


def _rref_context_get_debug_info() -> dict[str, str]:
    return references.table().counts()


@contextlib.contextmanager
def _use_rpc_pickler(rpc_pickler: Any) -> Iterator[None]:
    """Within the block, `_default_pickler` is another one."""
    global _default_pickler
    _default_pickler = rpc_pickler
    try:
        yield
    finally:
        _default_pickler = internal._internal_rpc_pickler


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """The name and the number of a worker.

    Args:
        worker_name: the name; None for this worker.

    Returns:
        What calls take instead of a name.

    Raises:
        RuntimeError: there is no such worker.

    Example:
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> get_worker_info()
        WorkerInfo(id=0, name=alone)
        >>> rpc.shutdown()
    """
    return current.current().get_worker_info(worker_name)


def _to_worker_info(to: str | int | WorkerInfo) -> WorkerInfo:
    agent = current.current()
    if isinstance(to, WorkerInfo):
        return to
    if isinstance(to, str):
        return agent.roster.find(to)
    if isinstance(to, int) and not isinstance(to, bool):
        return agent.roster.at(to)
    raise ValueError(f"Cannot get WorkerInfo from {to!r}: expected a name, a rank or a WorkerInfo")


def _check_callable(func: Any) -> None:
    if not callable(func):
        raise TypeError(f"function should be callable, got {type(func).__name__}: {func!r}")


def _start(
    to: str | int | WorkerInfo,
    func: Callable[..., Any],
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    timeout: float,
    way: str,
) -> Future[Any]:
    _check_callable(func)
    worker = _to_worker_info(to)
    agent = current.current()
    recording = internal.recording(way, func, agent.info.name, worker.name)
    with recording:
        return recording.ends_with(agent.call(worker, func, args or (), kwargs, timeout))


def rpc_sync(
    to: str | int | WorkerInfo,
    func: Callable[..., R],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float = constants.UNSET_RPC_TIMEOUT,
) -> R:
    """Calls a function in another worker and waits for its result.

    Args:
        to: the name, number or `WorkerInfo` of the worker.
        func: a function that the worker can import.
        args: its arguments.
        kwargs: its arguments by name.
        timeout: the seconds that this may take, 0 for any number, -1 for the agent's.

    Returns:
        What the function returned, as a copy.

    Example:
        >>> import operator
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> rpc_sync("alone", operator.add, (1, 2))
        3
        >>> rpc.shutdown()
    """
    _check_callable(func)
    worker, agent = _to_worker_info(to), current.current()
    with internal.recording("rpc_sync", func, agent.info.name, worker.name):
        result: R = agent.call_and_wait(worker, func, args or (), kwargs, timeout)
    return result


def rpc_async(
    to: str | int | WorkerInfo,
    func: Callable[..., R],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float = constants.UNSET_RPC_TIMEOUT,
) -> Future[R]:
    """Starts a call of a function in another worker.

    Args:
        to: the name, number or `WorkerInfo` of the worker.
        func: a function that the worker can import.
        args: its arguments. Tensors may not change until the call is sent.
        kwargs: its arguments by name.
        timeout: the seconds that the call may take, 0 for any number, -1 for the agent's.

    Returns:
        What the function will return.

    Example:
        >>> import operator
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> rpc_async("alone", operator.add, (1, 2)).wait()
        3
        >>> rpc.shutdown()
    """
    future = _start(to, func, args, kwargs, timeout, "rpc_async")
    if _thread_local_var.futures is not None:
        _thread_local_var.futures.append(future)
    return future


def remote(
    to: str | int | WorkerInfo,
    func: Callable[..., R],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float = constants.UNSET_RPC_TIMEOUT,
) -> RRef[R]:
    """Calls a function in another worker, which keeps the result.

    Args:
        to: the name, number or `WorkerInfo` of the worker.
        func: a function that the worker can import.
        args: its arguments. Tensors may not change until the call is sent.
        kwargs: its arguments by name.
        timeout: the seconds that the call may take, 0 for any number, -1 for the agent's.

    Returns:
        A reference to the result.

    Example:
        >>> import operator
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> remote("alone", operator.add, (1, 2)).to_here()
        3
        >>> rpc.shutdown()
    """
    _check_callable(func)
    worker = _to_worker_info(to)
    table = references.table()
    id, fork = table.new_id(), table.new_id()
    recording = internal.recording("remote", func, table.agent.info.name, worker.name)
    with recording:
        if worker.id == table.agent.info.id:
            owned = table.owned_value(id)
            call = table.agent.call(worker, func, args or (), kwargs, timeout)
            recording.ends_with(call)
            call.add_done_callback(lambda done: internal.settle(owned.value, done))
            holder: Any = owned
            table.drop_fork(id, fork)
        else:
            holder = User(table, id, fork, worker)
            confirmed = holder.confirmed
            with table.lock:
                table.pending.add(fork)
            call = table.agent.call(
                worker,
                internal.make_owned,
                (id, fork, func, tuple(args or ()), dict(kwargs or {})),
                None,
                timeout,
            )
            recording.ends_with(call)
            call.add_done_callback(lambda done: _confirm(table, fork, confirmed, done))
    reference: RRef[R] = RRef._of(table, holder)
    return reference


def _confirm(
    table: references.References, fork: references.GloballyUniqueId, confirmed: Future[Any], done: Future[Any]
) -> None:
    with table.lock:
        table.pending.discard(fork)
    internal.settle(confirmed, done)


@contextlib.contextmanager
def _wait_all() -> Iterator[None]:
    """Within the block, calls are counted; its end waits for all of them."""
    _thread_local_var.futures = []
    try:
        yield
        wait_all(_thread_local_var.futures)
    finally:
        del _thread_local_var.futures


def _all_gather(
    obj: Any, worker_names: set[str] | None = None, timeout: float = constants.UNSET_RPC_TIMEOUT
) -> dict[str, Any]:
    """The objects of workers by name.

    Args:
        obj: this worker's.
        worker_names: the workers that take part; None for all.
        timeout: the seconds that this may take.
    """
    return gathering.gather(current.current(), obj, worker_names, timeout)


def _barrier(worker_names: set[str]) -> None:
    """Waits until some workers have called it.

    Args:
        worker_names: the workers.
    """
    _all_gather(None, set(worker_names))


def _wait_all_workers(timeout: float = constants.DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Waits until all workers have called it."""
    _all_gather(None, timeout=timeout)


def _delete_all_user_and_unforked_owner_rrefs(timeout: float | None = None) -> None:
    """Waits until the forks of this worker are registered, and ends them."""
    table = references.table()
    deadline = time.monotonic() + (timeout or 10.0)
    gc.collect()
    while time.monotonic() < deadline:
        with table.lock:
            if not table.pending and not table.kept:
                return
        time.sleep(0.001)


def shutdown(graceful: bool = True, timeout: float = constants.DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Ends remote calls of this worker.

    Args:
        graceful: whether to wait until all workers have called it and no call is open.
        timeout: the seconds that this may take, 0 for any number.

    Raises:
        RuntimeError: a worker is gone, or others still refer to a value of this one.

    Example:
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> shutdown()
    """
    agent = current.current()
    try:
        if graceful:
            if agent.roster.is_complete:
                _wait_all_workers(timeout)
                _delete_all_user_and_unforked_owner_rrefs(timeout)
                agent.wait_until_idle(time.monotonic() + timeout if timeout else None)
                _wait_all_workers(timeout)
                agent.wait_until_answered()
            else:
                _delete_all_user_and_unforked_owner_rrefs(timeout)
                agent.wait_until_idle(time.monotonic() + (timeout or 5.0))
    finally:
        _finish(agent)


def _finish(agent: Agent) -> None:
    try:
        agent.shutdown()
    finally:
        current.set_current(None)
        internal.close_contexts()
        references.drop_table(agent, _ignore_rref_leak)


def _backward(reference: Any, context_id: int, retain_graph: bool) -> None:
    from .gradients import roots

    roots.backward(reference, context_id, retain_graph)


references.ways.update(rpc_sync=rpc_sync, rpc_async=rpc_async, remote=remote, backward=_backward)

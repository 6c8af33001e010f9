"""Parts of remote calls that PyTorch has under these names, and that its libraries use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from tl_core import Tensor
from tl_core.futures import Future

from . import pickling, references, thread_context
from .functions import async_execution, is_async

__all__ = ["PythonUDF", "RPCExecMode", "RemoteException", "deserialize", "serialize"]


class RPCExecMode(Enum):
    """The ways of calling.

    Example:
        >>> RPCExecMode.SYNC.value
        'sync'
    """

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


class PythonUDF(NamedTuple):
    """A function and its arguments.

    Args:
        func: the function.
        args: the arguments by position.
        kwargs: the arguments by keyword.
    """

    func: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any] | None


class RemoteException(NamedTuple):
    """The text of an error of another worker, and its class."""

    msg: str
    exception_type: type[BaseException]


class _InternalRPCPickler:
    """The pickled form of calls."""

    def serialize(self, obj: Any) -> tuple[bytes, list[Tensor]]:
        """The pickled form of a value, and its tensors."""
        return pickling.serialize(obj)

    def deserialize(self, binary_data: bytes, tensor_table: Sequence[Tensor]) -> Any:
        """The value of a pickled form."""
        try:
            return pickling.deserialize(binary_data, tensor_table)
        except AttributeError as error:
            return RemoteException(
                f"RPC pickler does not find a function or class on this worker: {error}", AttributeError
            )

    def _register_reducer(self, obj_class: type, reducer: Callable[[Any], Any]) -> None:
        pickling.register_reducer(obj_class, reducer)


_internal_rpc_pickler = _InternalRPCPickler()


def serialize(obj: Any) -> tuple[bytes, list[Tensor]]:
    """The pickled form of a value, and its tensors."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: Sequence[Tensor]) -> Any:
    """The value of a pickled form."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


@async_execution
def make_owned(
    id: references.GloballyUniqueId,
    fork: references.GloballyUniqueId,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Future[Any]:
    """Runs the call of `remote` in the worker that owns the result."""
    table = references.table()
    owned = table.owned_value(id)
    table.add_fork(owned, fork)
    try:
        result = function(*args, **kwargs)
        if is_async(function) and not isinstance(result, Future):
            raise RuntimeError(
                "Functions decorated with @rpc.async_function must return a torch.futures.Future object, but "
                f"{getattr(function, '__qualname__', function)} returned a {type(result).__name__}"
            )
    except Exception as error:
        owned.value.set_exception(error)
    else:
        if is_async(function):
            result.add_done_callback(lambda done: settle(owned.value, done))
        else:
            owned.value.set_result(result)
    return _without_value(owned.value)


def settle(target: Future[Any], done: Future[Any]) -> None:
    """Gives a future the value or the error of one that is done."""
    try:
        value = done.value()
    except Exception as error:
        target.set_exception(error)
    else:
        target.set_result(value)


def _without_value(value: Future[Any]) -> Future[Any]:
    """A future without the value, which stays with its owner; an error belongs to the value, too."""
    finished: Future[Any] = Future()
    value.add_done_callback(lambda _: finished.set_result(None))
    return finished


def close_contexts() -> None:
    """Ends the context of this thread, if a worker was shut down within one."""
    thread_context.set_context_id(None)


def _build_rpc_profiling_key(
    exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str
) -> str:
    """The name of a call in profiles."""
    return f"rpc_{exec_type.value}#{func_name}({current_worker_name} -> {dst_worker_name})"


class recording:
    """A call in profiles. Nothing is recorded outside of a profile."""

    def __init__(self, way: str, func: Callable[..., Any], own: str, to: str):
        pass

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        return None

    def ends_with(self, future: Future[Any]) -> Future[Any]:
        """The event ends when a future is done."""
        return future

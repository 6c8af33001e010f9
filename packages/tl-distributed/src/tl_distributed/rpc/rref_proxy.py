"""Methods of a value of another worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tl_core.futures import Future

from .functions import async_execution, is_async

UNSET = -1.0


class RRefProxy:
    """The methods of the value of a reference, each of which runs in the worker that owns the value.

    Args:
        rref: the reference.
        rpc_api: `rpc_sync`, `rpc_async` or `remote`.
        timeout: the seconds that a call may take.

    Example:
        >>> RRefProxy(None, print, 1.0).rpc_timeout
        1.0
    """

    def __init__(self, rref: Any, rpc_api: Callable[..., Any], timeout: float = UNSET):
        self.rref, self.rpc_api, self.rpc_timeout = rref, rpc_api, timeout

    def __getattr__(self, name: str) -> Any:
        return partial(_invoke, self.rref, self.rpc_api, name, self.rpc_timeout)


def _invoke(
    rref: Any, rpc_api: Callable[..., Any], name: str, timeout: float, /, *args: Any, **kwargs: Any
) -> Any:
    getattr(rref._get_type(timeout=timeout), name)  # an attribute that isn't there is an error at once
    return rpc_api(rref.owner(), call_method, args=(rref, name, args, kwargs), timeout=timeout)


@async_execution
def call_method(rref: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Future[Any]:
    """Calls a method of the value of a reference, in the worker that owns it.

    Args:
        rref: the reference.
        name: the name of the method.
        args: the arguments by position.
        kwargs: the arguments by keyword.
    """
    method = getattr(rref.local_value(), name)
    result = method(*args, **kwargs)
    if is_async(method):
        if not isinstance(result, Future):
            raise RuntimeError(
                "Functions decorated with @rpc.async_function must return a torch.futures.Future object, but "
                f"{name} returned a {type(result).__name__}"
            )
        return result
    future: Future[Any] = Future()
    future.set_result(result)
    return future

"""The kinds of agents."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from . import constants
from .agent import Agent
from .options import RpcBackendOptions, TensorPipeRpcBackendOptions

__all__ = [
    "BackendValue",
    "backend_registered",
    "construct_rpc_backend_options",
    "init_backend",
    "register_backend",
]


class BackendValue(NamedTuple):
    """The functions of a kind of agents.

    Args:
        construct_rpc_backend_options_handler: makes the settings.
        init_backend_handler: makes the agent.
    """

    construct_rpc_backend_options_handler: Callable[..., Any]
    init_backend_handler: Callable[..., Any]


def _text_of(kind: Any) -> str:
    return f"BackendType.{kind.name}"


def _kinds(values: dict[str, BackendValue]) -> Any:
    kinds: Any = enum.Enum("BackendType", values)  # type: ignore[misc]  # names are registered at run time
    setattr(kinds, "__repr__", _text_of)  # noqa: B010 - a class that a call makes
    kinds.__doc__ = "The kinds of agents; `TENSORPIPE` is the one of this package."
    return kinds


def backend_registered(backend_name: str) -> bool:
    """True if a kind of agents is there.

    Args:
        backend_name: its name.

    Example:
        >>> backend_registered("TENSORPIPE")
        True
    """
    return backend_name in BackendType.__members__


def register_backend(
    backend_name: str,
    construct_rpc_backend_options_handler: Callable[..., Any],
    init_backend_handler: Callable[..., Any],
) -> Any:
    """Adds a kind of agents.

    Args:
        backend_name: its name.
        construct_rpc_backend_options_handler: makes the settings.
        init_backend_handler: makes the agent.

    Returns:
        The member of `BackendType`.

    Raises:
        RuntimeError: the name is taken.
    """
    global BackendType
    if backend_registered(backend_name):
        raise RuntimeError(f"RPC backend {backend_name}: already registered")
    values = {member.name: member.value for member in BackendType}
    values[backend_name] = BackendValue(construct_rpc_backend_options_handler, init_backend_handler)
    BackendType = _kinds(values)
    return BackendType[backend_name]


def construct_rpc_backend_options(
    backend: Any,
    rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
    init_method: str = constants.DEFAULT_INIT_METHOD,
    **kwargs: Any,
) -> Any:
    """The settings of a kind of agents.

    Args:
        backend: the kind.
        rpc_timeout: the seconds that a call may take.
        init_method: the address at which the workers meet.
        kwargs: settings of this kind alone.
    """
    make = backend.value.construct_rpc_backend_options_handler
    return make(rpc_timeout=rpc_timeout, init_method=init_method, **kwargs)


def init_backend(backend: Any, *args: Any, **kwargs: Any) -> Any:
    """Makes an agent.

    Args:
        backend: the kind.
        args: for its function.
        kwargs: for its function.
    """
    return backend.value.init_backend_handler(*args, **kwargs)


def _make_options(
    rpc_timeout: float,
    init_method: str,
    num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS,
    **kwargs: Any,
) -> TensorPipeRpcBackendOptions:
    return TensorPipeRpcBackendOptions(
        rpc_timeout=rpc_timeout, init_method=init_method, num_worker_threads=num_worker_threads, **kwargs
    )


def _make_agent(
    store: Any, name: str, rank: int, world_size: int | None, rpc_backend_options: RpcBackendOptions
) -> Agent:
    if not isinstance(rpc_backend_options, TensorPipeRpcBackendOptions):
        raise TypeError(
            f"`rpc_backend_options` must be a `TensorPipeRpcBackendOptions`, got {type(rpc_backend_options).__name__}"
        )
    return Agent(store, name, rank, world_size, rpc_backend_options)


BackendType = _kinds({"TENSORPIPE": BackendValue(_make_options, _make_agent)})

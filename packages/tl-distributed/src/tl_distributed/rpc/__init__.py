"""Calls of functions in other processes, and references to their results.

Workers trust each other: a call names any function that the callee can import. Only processes that know the job's
token, which the store holds, are workers. So the store has to be closed to strangers.
"""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

from ..stores.rendezvous import rendezvous
from ..stores.store import PrefixStore, Store
from . import api, backend_registry, constants, functions, internal
from .agent import Agent
from .api import (
    _delete_all_user_and_unforked_owner_rrefs,
    _get_current_rpc_agent,
    _is_current_rpc_agent_set,
    _rref_context_get_debug_info,
    _set_and_start_rpc_agent,
    _set_rpc_timeout,
    enable_gil_profiling,
    get_rpc_timeout,
    get_worker_info,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from .backend_registry import BackendType
from .options import RpcBackendOptions, TensorPipeRpcBackendOptions
from .references import PyRRef, RRef
from .worker_info import WorkerInfo

__all__ = [
    "BackendType",
    "PyRRef",
    "RRef",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "WorkerInfo",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_rounds = itertools.count()
_lock = threading.Lock()


def is_available() -> bool:
    """True: functions can be called in other processes.

    Example:
        >>> is_available()
        True
    """
    return True


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
) -> None:
    """Makes this process a worker, once all others have joined.

    Args:
        name: of this worker: letters, digits, `_`, `-` and `:`.
        backend: the kind of agent; a member of `BackendType`.
        rank: its number; -1 leaves it to the environment.
        world_size: the number of workers; None leaves it to the environment, or lets workers come and go.
        rpc_backend_options: the settings.

    Raises:
        RuntimeError: this process is a worker already, or another worker has the name.

    Example:
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> rpc.get_worker_info().name
        'alone'
        >>> rpc.shutdown()
    """
    if backend is not None and not isinstance(backend, backend_registry.BackendType):
        raise TypeError(f"Argument backend must be a member of BackendType, got {type(backend).__name__}")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError(
            f"Argument rpc_backend_options must be an instance of RpcBackendOptions, got "
            f"{type(rpc_backend_options).__name__}"
        )
    if api._is_current_rpc_agent_set():
        raise RuntimeError("RPC is already initialized")
    if backend is None and rpc_backend_options is not None:
        if type(rpc_backend_options) is not TensorPipeRpcBackendOptions:
            raise TypeError(
                f"Could not infer backend for options {rpc_backend_options}: {type(rpc_backend_options).__name__} "
                "belongs to none"
            )
        backend = backend_registry.BackendType["TENSORPIPE"]
    if backend is None:
        backend = backend_registry.BackendType["TENSORPIPE"]
    if rpc_backend_options is None:
        rpc_backend_options = backend_registry.construct_rpc_backend_options(backend)
    store, rank, size = _meet(rank, world_size, rpc_backend_options.init_method)
    _init_rpc_backend(backend, store, name, rank, size, rpc_backend_options)


def _meet(rank: int, world_size: int | None, init_method: str) -> tuple[Store, int, int | None]:
    """The store of the workers, the number of this one, and how many there are."""
    is_open = world_size is None and "WORLD_SIZE" not in os.environ
    if is_open:
        store, number, _ = next(
            rendezvous(init_method, rank=max(rank, 0), world_size=-1 if "?" in init_method else 0)
        )
        return PrefixStore("rpc_prefix_open", store), rank, None
    store, number, size = next(
        rendezvous(init_method, rank=rank, world_size=-1 if world_size is None else world_size)
    )
    return PrefixStore(f"rpc_prefix_{next(_rounds)}", store), number, size


def _init_rpc_backend(
    backend: Any = None,
    store: Store | None = None,
    name: str | None = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
) -> None:
    """Makes the agent of this process."""
    if store is None or name is None:
        raise RuntimeError("a worker needs a store and a name")
    if api._is_current_rpc_agent_set():
        raise RuntimeError("RPC is already initialized")
    agent = backend_registry.init_backend(
        backend,
        store=store,
        name=name,
        rank=rank,
        world_size=world_size,
        rpc_backend_options=rpc_backend_options,
    )
    api._set_and_start_rpc_agent(agent)
    if isinstance(agent, Agent):
        try:
            agent.begin()
        except BaseException:
            api._set_and_start_rpc_agent(None)
            agent.shutdown()
            raise


def _get_debug_info() -> dict[str, str]:
    """Counts of references, the agent and distributed derivatives, as texts."""
    from .gradients import contexts

    return {
        **_rref_context_get_debug_info(),
        **_get_current_rpc_agent().get_debug_info(),
        **contexts.counts(),
    }

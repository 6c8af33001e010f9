"""References to values of other workers, and the counts by which owners keep the values.

A value stays with its owner. The owner holds it while a fork is registered: each user has one. A user that is passed on
gets a new fork for the receiver. The sender keeps its own fork until the owner has registered the new one, so the count
never falls to zero between. The last reference in Python ends a user's fork.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from tl_core.futures import Future

from .current import current
from .functions import async_execution
from .pickling import register_reducer
from .rref_proxy import RRefProxy
from .worker_info import WorkerInfo

T = TypeVar("T")


class GloballyUniqueId(NamedTuple):
    """A number that no other worker gives out.

    Args:
        created_on: the number of the worker.
        local_id: its count.
    """

    created_on: int
    local_id: int

    def __str__(self) -> str:
        return f"GloballyUniqueId(created_on={self.created_on}, local_id={self.local_id})"


class Owned:
    """A value of this worker that others may refer to.

    Attributes:
        id: the number of the reference.
        value: the value, once it is there.
        forks: the users that are registered.
    """

    def __init__(self, id: GloballyUniqueId):
        self.id = id
        self.value: Future[Any] = Future()
        self.forks: set[GloballyUniqueId] = set()


class User:
    """A fork: what this worker knows of a value of another one.

    Args:
        references: the references of this worker.
        id: the number of the reference.
        fork: the number of the fork.
        owner: the worker that has the value.

    The future `confirmed` is done when the owner has registered the fork.
    """

    def __init__(
        self, references: References, id: GloballyUniqueId, fork: GloballyUniqueId, owner: WorkerInfo
    ):
        self.references, self.id, self.fork, self.owner = references, id, fork, owner
        self.confirmed: Future[Any] = Future()

    def __del__(self) -> None:
        if not self.references.is_over:
            self.references.release(self.id, self.fork, self.owner, self.confirmed)


class References:
    """The references of a worker: the values that it owns, and its forks of others' values.

    Args:
        agent: the agent of the worker.
    """

    def __init__(self, agent: Any):
        self.agent = agent
        self.owned: dict[GloballyUniqueId, Owned] = {}
        self.users: dict[GloballyUniqueId, Any] = {}  # weak references to users
        self.kept: dict[GloballyUniqueId, Any] = {}  # by the fork of a receiver that isn't registered yet
        self.pending: set[GloballyUniqueId] = set()  # forks that the owner hasn't registered yet
        self.lock = threading.RLock()
        self.is_over = False
        self._count = itertools.count()

    def new_id(self) -> GloballyUniqueId:
        """A number that no other worker gives out."""
        return GloballyUniqueId(self.agent.info.id, next(self._count))

    def owned_value(self, id: GloballyUniqueId) -> Owned:
        """The value of a number; an entry for it, if the call that makes it hasn't come yet."""
        with self.lock:
            return self.owned.setdefault(id, Owned(id))

    def add_fork(self, owned: Owned, fork: GloballyUniqueId) -> None:
        """Registers a user of a value."""
        with self.lock:
            self.owned[owned.id] = owned
            owned.forks.add(fork)

    def drop_fork(self, id: GloballyUniqueId, fork: GloballyUniqueId) -> None:
        """Removes a user of a value, and the value with the last one."""
        with self.lock:
            owned = self.owned.get(id)
            if owned is not None:
                owned.forks.discard(fork)
                if not owned.forks:
                    del self.owned[id]

    def release(
        self, id: GloballyUniqueId, fork: GloballyUniqueId, owner: WorkerInfo, confirmed: Future[Any]
    ) -> None:
        """Tells the owner that a fork has ended, once it was registered; called by finalizers, so it doesn't wait."""

        def tell(_: Future[Any]) -> None:
            if not self.is_over:
                self.agent.threads.submit(lambda: self._tell_end(id, fork, owner))

        confirmed.add_done_callback(tell)

    def _tell_end(self, id: GloballyUniqueId, fork: GloballyUniqueId, owner: WorkerInfo) -> None:
        if not self.agent.is_over:
            self.agent.call(owner, drop_fork, (id, fork), timeout=0, internal=True)

    def counts(self) -> dict[str, str]:
        """The counts, as texts."""
        with self.lock:
            return {
                "num_owner_rrefs": str(len(self.owned)),
                "num_forks": str(sum(len(owned.forks) for owned in self.owned.values())),
                "num_pending_futures": str(sum(not owned.value.done() for owned in self.owned.values())),
                "num_pending_users": str(len(self.pending)),
            }


ways: dict[str, Callable[..., Any]] = {}  # `api` puts its functions here


def table(agent: Any = None) -> References:
    """The references of the worker of this process or thread."""
    references: References = (current() if agent is None else agent).part(References)
    return references


def drop_table(agent: Any, ignore_leaks: bool) -> None:
    """Ends the references of a worker.

    Args:
        agent: the agent of the worker.
        ignore_leaks: whether values that others still refer to are no error.

    Raises:
        RuntimeError: others still refer to a value.
    """
    references = table(agent)
    references.is_over = True
    leaks = [f"OwnerRRef({id})" for id, owned in references.owned.items() if owned.forks]
    references.owned.clear()
    if leaks and not ignore_leaks:
        raise RuntimeError(
            f"Leaking RRef {', '.join(leaks[:8])}: others refer to these values of {agent.info.name} at its shutdown"
        )


class PyRRef(Generic[T]):
    """A reference to a value of a worker.

    Args:
        value: a value of this worker.
        type_hint: for TorchScript in PyTorch; it changes nothing here.

    Example:
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> reference = rpc.RRef([1, 2])
        >>> reference.is_owner(), reference.to_here()
        (True, [1, 2])
        >>> rpc.shutdown()
    """

    def __init__(self, value: T, type_hint: Any = None):
        references = table()
        owned = Owned(references.new_id())
        owned.value.set_result(value)
        self._set(references, owned)

    def _set(self, references: References, holder: Owned | User) -> None:
        self._references, self._holder = references, holder
        self._kind: Future[Any] | None = None

    @classmethod
    def _of(cls, references: References, holder: Owned | User) -> Any:
        reference = cls.__new__(cls)
        reference._set(references, holder)
        return reference

    def is_owner(self) -> bool:
        """True if the value is this worker's."""
        return isinstance(self._holder, Owned)

    def owner(self) -> WorkerInfo:
        """The worker that has the value."""
        return self._references.agent.info if isinstance(self._holder, Owned) else self._holder.owner

    def owner_name(self) -> str:
        """The name of the worker that has the value."""
        return self.owner().name

    def confirmed_by_owner(self) -> bool:
        """True if the owner has registered this reference."""
        if isinstance(self._holder, Owned):
            return True
        return self._holder.confirmed.done() and self._holder.confirmed._error is None

    def local_value(self) -> T:
        """The value, in the worker that owns it.

        Raises:
            RuntimeError: another worker owns it.
        """
        if isinstance(self._holder, User):
            raise RuntimeError(
                f"local_value() of {self} on {self._references.agent.info.name}: Cannot call localValue() on a "
                f"non-local reference; {self._holder.owner.name} has the value, and to_here() copies it"
            )
        return self._holder.value.wait()

    def to_here(self, timeout: float = -1.0) -> T:
        """A copy of the value; the value itself in the worker that owns it.

        Args:
            timeout: the seconds that this may take, 0 for any number, -1 for the agent's.
        """
        if isinstance(self._holder, Owned):
            return self._holder.value.wait()
        self._raise_failure()
        call = self._references.agent.call(self._holder.owner, fetch, (self._holder.id,), None, timeout, True)
        return call.wait()

    def _raise_failure(self) -> None:
        """Raises the error of the call that was to make the value, if it has one."""
        if isinstance(self._holder, User) and self._holder.confirmed.done():
            self._holder.confirmed.value()

    def _get_future(self) -> Future[Any]:
        return self._holder.value if isinstance(self._holder, Owned) else self._holder.confirmed

    _get_profiling_future = _get_future

    def _get_type(self, timeout: float = -1.0, blocking: bool = True) -> Any:
        """The class of the value, or a future of it."""
        if self._kind is None:
            if isinstance(self._holder, Owned):
                self._kind = self._holder.value.then(lambda done: type(done.value()))
            else:
                self._raise_failure()
                self._kind = self._references.agent.call(
                    self._holder.owner, kind_of, (self._holder.id,), None, timeout, True
                )
        return self._kind.wait() if blocking else self._kind

    def rpc_sync(self, timeout: float = -1.0) -> Any:
        """A helper whose methods are those of the value: they run in the owner, and return the result.

        Args:
            timeout: the seconds that a call may take.
        """
        return self._proxy("rpc_sync", timeout)

    def rpc_async(self, timeout: float = -1.0) -> Any:
        """A helper whose methods are those of the value: they run in the owner, and return a future.

        Args:
            timeout: the seconds that a call may take.
        """
        return self._proxy("rpc_async", timeout)

    def remote(self, timeout: float = -1.0) -> Any:
        """A helper whose methods are those of the value: they run in the owner, and return a reference.

        Args:
            timeout: the seconds that a call may take.
        """
        return self._proxy("remote", timeout)

    def _proxy(self, way: str, timeout: float) -> Any:
        return RRefProxy(self, ways[way], timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Runs the backward pass with the value as the root.

        Args:
            dist_autograd_ctx_id: the context of a distributed pass; -1 for a pass in the owner alone.
            retain_graph: whether the graph may be used again.

        Raises:
            RuntimeError: the value is another worker's and no context is there.
        """
        ways["backward"](self, dist_autograd_ctx_id, retain_graph)

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "RRef pickling is only supported in remote calls: the reference is counted by its owner. "
            "Can not pickle rref in python pickler"
        )

    def __str__(self) -> str:
        if isinstance(self._holder, Owned):
            return f"OwnerRRef({self._holder.id})"
        return f"UserRRef(RRefId = {self._holder.id}, ForkId = {self._holder.fork})"


class RRef(PyRRef[T]):
    """A reference to a value of a worker: `PyRRef` under the name that programs use.

    Example:
        >>> issubclass(RRef, PyRRef)
        True
    """


# Functions that workers call in each other.


@async_execution
def fetch(id: GloballyUniqueId) -> Future[Any]:
    """The value of a number, for a user."""
    return table().owned_value(id).value


@async_execution
def kind_of(id: GloballyUniqueId) -> Future[Any]:
    """The class of the value of a number, for a user."""
    return table().owned_value(id).value.then(lambda done: type(done.value()))


def add_fork(id: GloballyUniqueId, fork: GloballyUniqueId) -> None:
    """Registers the fork of the user that calls."""
    references = table()
    references.add_fork(references.owned_value(id), fork)


def drop_fork(id: GloballyUniqueId, fork: GloballyUniqueId) -> None:
    """Ends the fork of the user that calls."""
    table().drop_fork(id, fork)


def free_parent(fork: GloballyUniqueId) -> None:
    """Lets go of the reference that a fork was made of: the owner has registered the fork."""
    references = table()
    with references.lock:
        reference = references.kept.pop(fork, None)
        references.pending.discard(fork)
    del reference


# References in messages.


def _reduce(reference: PyRRef[Any]) -> Any:
    references, holder = reference._references, reference._holder
    fork = references.new_id()
    if isinstance(holder, Owned):
        references.add_fork(holder, fork)
    else:
        reference._raise_failure()
        with references.lock:
            references.kept[fork] = reference
            references.pending.add(fork)
    return _receive, (type(reference), holder.id, fork, reference.owner(), references.agent.info)


def _receive(
    kind: type[PyRRef[Any]],
    id: GloballyUniqueId,
    fork: GloballyUniqueId,
    owner: WorkerInfo,
    parent: WorkerInfo,
) -> PyRRef[Any]:
    references = table()
    agent = references.agent
    if owner.id == agent.info.id:
        owned = references.owned_value(id)
        if parent.id == agent.info.id:
            references.drop_fork(id, fork)  # a message to itself
        else:
            agent.call(parent, free_parent, (fork,), timeout=0, internal=True)
        return kind._of(references, owned)
    user = User(references, id, fork, owner)
    if parent.id == owner.id:
        user.confirmed.set_result(None)
        return kind._of(references, user)
    with references.lock:
        references.pending.add(fork)
    agent.call(owner, add_fork, (id, fork), timeout=0, internal=True).add_done_callback(
        lambda done: _confirm(references, user.confirmed, fork, parent, done)
    )
    return kind._of(references, user)


def _confirm(
    references: References,
    confirmed: Future[Any],
    fork: GloballyUniqueId,
    parent: WorkerInfo,
    done: Future[Any],
) -> None:
    """The owner has registered a fork, or is gone."""
    with references.lock:
        references.pending.discard(fork)
    try:
        done.value()
    except Exception as error:
        confirmed.set_exception(error)
    else:
        confirmed.set_result(None)
    if parent.id == references.agent.info.id:
        free_parent(fork)
    elif not references.agent.is_over:
        references.agent.call(parent, free_parent, (fork,), timeout=0, internal=True)


register_reducer(PyRRef, _reduce)
register_reducer(RRef, _reduce)

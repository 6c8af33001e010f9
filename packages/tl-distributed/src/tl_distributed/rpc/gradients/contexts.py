"""Contexts: what a worker sent and received with gradients in one computation, and the gradients of its tensors."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

from tl_core import Tensor

from .. import thread_context
from ..current import current as current_agent

_BITS = 48


class SendFunction:
    """Tensors that a worker sent: the backward pass of their receivers ends there, and goes on in this worker.

    Args:
        worker: the receiver.
        tensors: those that require gradients.
    """

    def __init__(self, worker: int, tensors: Sequence[Tensor]):
        self.worker, self.tensors = worker, list(tensors)

    def name(self) -> str:
        """The name in profiles."""
        return "torch::distributed::autograd::SendRpcBackward"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the tensors are results of."""
        from tl_autograd.graph import get_gradient_edge

        edges = [get_gradient_edge(tensor) for tensor in self.tensors]
        return tuple((edge.node, edge.output_nr) for edge in edges)


class Context:
    """One computation on several workers, as one of them sees it.

    Args:
        agent: of the worker.
        id: the number of the context, the same on all workers.
    """

    def __init__(self, agent: Any, id: int):
        self.agent, self.id = agent, id
        self.lock = threading.RLock()
        self.sends: dict[int, SendFunction] = {}
        self.receives: dict[int, Any] = {}
        self.workers: set[int] = set()
        self.gradients: dict[Tensor, Tensor] = {}
        self.running: Any = None  # the `Pass` of `engine`
        self.is_spent = False

    def _context_id(self) -> int:
        return self.id

    def _send_functions(self) -> dict[int, SendFunction]:
        return dict(self.sends)

    def _recv_functions(self) -> dict[int, Any]:
        return {number: entry.node for number, entry in self.receives.items()}

    def _known_worker_ids(self) -> set[int]:
        return set(self.workers)

    def add_gradient(self, variable: Tensor, gradient: Tensor) -> None:
        """Adds to the gradient of a tensor of this worker."""
        with self.lock:
            before = self.gradients.get(variable)
            self.gradients[variable] = gradient if before is None else before + gradient


class Contexts:
    """The contexts of a worker.

    Args:
        agent: of the worker.
    """

    def __init__(self, agent: Any):
        self.agent = agent
        self._lock = threading.Lock()
        self._all: dict[int, Context] = {}
        self._count = itertools.count()
        self._messages = itertools.count()

    def new(self) -> Context:
        """A context of this worker."""
        return self.at_or_new((self.agent.info.id << _BITS) | next(self._count))

    def new_message(self) -> int:
        """The number of a message that no other worker gives out."""
        return (self.agent.info.id << _BITS) | next(self._messages)

    def at_or_new(self, id: int) -> Context:
        """The context of a number, which a message of another worker may have begun."""
        with self._lock:
            return self._all.setdefault(id, Context(self.agent, id))

    def find(self, id: int) -> Context | None:
        """The context of a number, if it is there."""
        return self._all.get(id)

    def release(self, id: int) -> None:
        """Forgets a context here and on the workers that have messages of this one in it."""
        with self._lock:
            context = self._all.pop(id, None)
        if context is None or self.agent.is_over:
            return
        with thread_context.in_context(None):
            for worker in context.workers - {self.agent.info.id}:
                try:
                    to = self.agent.roster.at(worker)
                    self.agent.call(to, release_there, (id,), timeout=0, internal=True)
                except RuntimeError:
                    continue  # the worker is gone, and its part of the context with it

    def counts(self) -> dict[str, str]:
        """The counts, as texts."""
        with self._lock:
            passes = sum(context.running is not None for context in self._all.values())
            return {"num_current_backward_passes": str(passes), "num_autograd_contexts": str(len(self._all))}


def table() -> Contexts:
    """The contexts of the worker of this process or thread."""
    contexts: Contexts = current_agent().part(Contexts)
    return contexts


def release_there(id: int) -> None:
    """Forgets the context of a worker that calls."""
    table().release(id)


def counts() -> dict[str, str]:
    """The counts of the contexts of this worker, as texts."""
    return table().counts()


def retrieve(id: int) -> Context:
    """The context of a number.

    Raises:
        RuntimeError: there is none.
    """
    if isinstance(id, bool) or not isinstance(id, int):
        raise TypeError(
            f"incompatible function arguments: context_id must be an int, got {type(id).__name__}"
        )
    context = table().find(id)
    if context is None:
        raise RuntimeError(f"Could not find autograd context with id: {id}")
    return context


def current() -> Context:
    """The context of this thread.

    Raises:
        RuntimeError: the thread is in none.
    """
    number = thread_context.context_id()
    if number is None:
        raise RuntimeError(
            "Current thread doesn't have a valid autograd context. Use `with autograd.context()`"
        )
    return retrieve(number)


def enter() -> Context:
    """Begins a context in this thread.

    Raises:
        RuntimeError: the thread is in one.
    """
    number = thread_context.context_id()
    if number is not None:
        raise RuntimeError(f"Already have an autograd context id for this thread: {number}")
    context = table().new()
    thread_context.set_context_id(context.id)
    return context


def leave(id: int) -> None:
    """Ends a context, here and on all workers that it reached."""
    thread_context.set_context_id(None)
    table().release(id)


def gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients of this worker's tensors."""
    return dict(retrieve(context_id).gradients)


def max_id() -> int:
    """The largest number that a context of this worker can have."""
    return (current_agent().info.id << _BITS) | ((1 << _BITS) - 1)

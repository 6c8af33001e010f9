"""Derivatives of computations on several workers; needs the extra `nn`.

>>> import tl_core
>>> from tl_distributed import rpc
>>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
>>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
>>> weight = tl_core.ones(2, requires_grad=True)
>>> with context() as context_id:
...     loss = rpc.rpc_sync("alone", tl_core.mul, (weight, 3)).sum()
...     backward(context_id, [loss])
...     get_gradients(context_id)[weight]
tensor([3., 3.])
>>> rpc.shutdown()
"""

from __future__ import annotations

from types import TracebackType

from tl_core import Tensor

from ..rpc.gradients import contexts, engine
from ..rpc.gradients.contexts import Context as DistAutogradContext

__all__ = ["DistAutogradContext", "backward", "context", "get_gradients", "is_available"]


def is_available() -> bool:
    """True: gradients flow between workers.

    Example:
        >>> is_available()
        True
    """
    return True


class context:
    """The messages within a `with` block belong to one computation, whose backward pass goes through all workers.

    Example:
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> with context() as context_id:
        ...     print(context_id)
        ...
        0
        >>> rpc.shutdown()
    """

    def __enter__(self) -> int:
        self._context = contexts.enter()
        return self._context.id

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        contexts.leave(self._context.id)


def backward(context_id: int, roots: list[Tensor], retain_graph: bool = False) -> None:
    """Runs the backward pass of a computation on all its workers, and waits for its end.

    All messages of the context are taken to be part of the graph. The gradients are not added to the tensors; each
    worker gets those of its own tensors from `get_gradients`.

    Args:
        context_id: the context.
        roots: scalars of this worker.
        retain_graph: whether another pass may follow.

    Raises:
        RuntimeError: there is no such context, a root isn't a scalar with a graph, or a worker is gone.
    """
    engine.backward(context_id, roots, retain_graph)


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients of this worker's tensors.

    Args:
        context_id: the context.

    Returns:
        The gradients by tensor.

    Raises:
        RuntimeError: there is no such context.
    """
    return contexts.gradients(context_id)


def _current_context() -> DistAutogradContext:
    return contexts.current()


def _retrieve_context(context_id: int) -> DistAutogradContext:
    return contexts.retrieve(context_id)


def _new_context() -> DistAutogradContext:
    return contexts.enter()


def _release_context(context_id: int) -> None:
    contexts.retrieve(context_id)
    contexts.leave(context_id)


def _is_valid_context(context_id: int) -> bool:
    contexts.retrieve(context_id)
    return True


def _get_max_id() -> int:
    return contexts.max_id()


def _get_debug_info() -> dict[str, str]:
    return contexts.counts()


def _init(worker_id: int) -> None:
    """Does no work: contexts begin with the first one of a worker."""

"""An optimizer of parameters that lie on other workers."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tl_core import Tensor
from tl_core.futures import wait_all
from tl_nn.optim import Optimizer

if TYPE_CHECKING:
    from ..rpc import RRef

__all__ = ["DistributedOptimizer"]

_stepping = threading.Lock()  # a gradient stands in `grad` for the time of a step


class _LocalOptimizer:
    """The optimizer of one worker."""

    def __init__(self, kind: type[Optimizer], parameters: list[RRef[Tensor]], args: Any, kwargs: Any):
        self._parameters = [each.local_value() for each in parameters]
        self._optimizer = kind(self._parameters, *args, **kwargs)

    def step(self, context_id: int) -> None:
        from ..rpc.gradients import contexts

        gradients = contexts.gradients(context_id)
        with _stepping:
            before = [each.grad for each in self._parameters]
            try:
                for each in self._parameters:
                    each.grad = gradients.get(each)
                self._optimizer.step()
            finally:
                for each, gradient in zip(self._parameters, before, strict=True):
                    each.grad = gradient


def _make(
    kind: type[Optimizer], parameters: list[RRef[Tensor]], args: Any, kwargs: Any
) -> RRef[_LocalOptimizer]:
    from .. import rpc

    return rpc.RRef(_LocalOptimizer(kind, parameters, args, kwargs))


def _step(optimizer: RRef[_LocalOptimizer], context_id: int) -> None:
    optimizer.local_value().step(context_id)


class DistributedOptimizer:
    """An optimizer of parameters on several workers: each worker has an optimizer of its own.

    Args:
        optimizer_class: the optimizer on each worker.
        params_rref: references to the parameters.
        args: the optimizer's arguments.
        kwargs: likewise.

    Example:
        >>> import tl_core
        >>> from tl_distributed import autograd, rpc
        >>> from tl_nn.optim import SGD
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> weight = tl_core.ones(2, requires_grad=True)
        >>> optimizer = DistributedOptimizer(SGD, [rpc.RRef(weight)], lr=0.5)
        >>> with autograd.context() as context_id:
        ...     autograd.backward(context_id, [weight.sum()])
        ...     optimizer.step(context_id)
        >>> weight
        tensor([0.5000, 0.5000], requires_grad=True)
        >>> rpc.shutdown()
    """

    def __init__(
        self, optimizer_class: type[Optimizer], params_rref: list[RRef[Tensor]], *args: Any, **kwargs: Any
    ):
        from .. import rpc

        by_owner: dict[Any, list[RRef[Tensor]]] = defaultdict(list)
        for each in params_rref:
            by_owner[each.owner()].append(each)
        calls = [
            rpc.rpc_async(owner, _make, (optimizer_class, parameters, args, kwargs))
            for owner, parameters in by_owner.items()
        ]
        self.remote_optimizers = wait_all(calls)

    def step(self, context_id: int) -> None:
        """Steps on each worker with the gradients of a context, and waits for all.

        Args:
            context_id: of the backward pass that made the gradients.

        Raises:
            RuntimeError: there is no such context, or a worker is gone.
        """
        from .. import rpc

        wait_all([rpc.rpc_async(each.owner(), _step, (each, context_id)) for each in self.remote_optimizers])

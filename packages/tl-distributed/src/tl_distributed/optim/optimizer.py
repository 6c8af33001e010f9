"""An optimizer of parameters that lie on other processes."""

from __future__ import annotations

from typing import Any, NoReturn

from tl_nn.optim import Optimizer

__all__ = ["DistributedOptimizer"]

_MISSING = (
    "DistributedOptimizer steps with parameters on other processes by remote procedure calls (torch.distributed.rpc), "
    "which tl doesn't have yet; ZeroRedundancyOptimizer divides an optimizer's state among processes"
)


class DistributedOptimizer:
    """An optimizer of remote parameters, which needs remote procedure calls: they are not there yet.

    Args:
        optimizer_class: the optimizer on each process.
        params_rref: references to the parameters.
        args: the optimizer's arguments.
        kwargs: likewise.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, optimizer_class: type[Optimizer], params_rref: list[Any], *args: Any, **kwargs: Any):
        raise NotImplementedError(_MISSING)

    def step(self, context_id: int) -> NoReturn:
        """Steps on each process.

        Args:
            context_id: of the distributed backward pass that made the gradients.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(_MISSING)

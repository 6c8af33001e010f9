"""Gradients of some parameters that are reduced together, after those of all others."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor, no_grad

from ..base.reduction import ReduceOp
from ..groups.process_group import ProcessGroup


def check(named: Sequence[tuple[str, Tensor]] | None, trigger: Tensor | None) -> None:
    """Raises unless both are there or neither."""
    if (named is None) != (trigger is None):
        raise ValueError(
            "DistributedDataParallel: delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at "
            "the same time"
        )


def reduce_after(named: Sequence[tuple[str, Tensor]], every: Sequence[Tensor], group: ProcessGroup) -> None:
    """Averages gradients over a group in every backward pass, after all others have been reduced.

    The order in which gradients come may differ among processes, that of collectives may not: so this waits for all.

    Args:
        named: the parameters and their names.
        every: all parameters that get a gradient in each pass, these among them.
        group: the processes.
    """
    parameters = [parameter for _, parameter in named]
    came: set[int] = set()

    def count(parameter: Tensor) -> None:
        came.add(id(parameter))
        if len(came) == len(every):
            came.clear()
            _average(parameters, group)

    for parameter in every:
        parameter.register_post_accumulate_grad_hook(count)


def _average(parameters: Sequence[Tensor], group: ProcessGroup) -> None:
    with no_grad():
        grads = [tl_core.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = tl_core.cat([grad.reshape(-1) for grad in grads]).div_(group.size())
        group.communicator(flat.device.type).blocking.all_reduce(flat, ReduceOp.SUM).wait()
        for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
            if parameter.grad is None:
                parameter.grad = part.view(parameter.shape).clone()
            else:
                parameter.grad.copy_(part.view(parameter.shape))

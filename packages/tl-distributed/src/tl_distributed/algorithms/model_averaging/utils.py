"""Parameters averaged over a group."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import tl_core
from tl_core import Tensor, no_grad

from ...base.reduction import ReduceOp
from ...groups.group_member import GroupMember
from ...groups.process_group import ProcessGroup
from ...groups.process_groups import default_group

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterator[Tensor], process_group: ProcessGroup | None) -> None:
    """Averages parameters over a group, in place.

    Args:
        params: the parameters; of one type and device.
        process_group: the group; the world for None. A process that isn't in it does nothing.
    """
    if process_group is GroupMember.NON_GROUP_MEMBER:
        return
    group = default_group() if process_group is None else process_group
    every = list(params)
    if not every:
        return
    with no_grad():
        flat = tl_core.cat([parameter.reshape(-1) for parameter in every]).div_(group.size())
        group.communicator(flat.device.type).blocking.all_reduce(flat, ReduceOp.SUM).wait()
        for parameter, part in zip(every, flat.split([p.numel() for p in every]), strict=True):
            parameter.copy_(part.view(parameter.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have a gradient, of parameters or of an optimizer's groups.

    Args:
        params: parameters, or dictionaries with the key `params`.

    Raises:
        NotImplementedError: something else is among them.
    """
    result: list[Tensor] = []
    for each in params:
        if isinstance(each, Tensor):
            several = [each]
        elif isinstance(each, dict):
            several = each["params"]
        else:
            raise NotImplementedError(
                f"get_params_to_average: expected parameters or groups of them, got {type(each).__name__}"
            )
        result += [parameter for parameter in several if parameter.grad is not None]
    return result


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: ProcessGroup | None) -> None:
    """Averages parameters, or those of an optimizer's groups.

    Args:
        params: parameters, or dictionaries with the key `params`.
        process_group: the group; the world for None.
    """
    average_parameters(itertools.chain(get_params_to_average(params)), process_group)

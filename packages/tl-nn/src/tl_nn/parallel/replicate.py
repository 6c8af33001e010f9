"""Copies of a module on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..modules.module import Module

__all__ = ["replicate"]

_M = TypeVar("_M", bound=Module)


def replicate(network: _M, devices: Sequence[Any], detach: bool = False) -> list[_M]:
    """A module's replicas, whose parameters are copies that pass gradients on to its own.

    Args:
        network (Module): The module.
        devices (sequence of devices): Where the replicas are.
        detach (bool): Whether gradients aren't passed on.

    Example:
        >>> import tl_nn
        >>> [replica.in_features for replica in tl_nn.parallel.replicate(tl_nn.Linear(2, 1), ["cpu", "cpu"])]
        [2, 2]
    """
    return [_replica(network, device, detach) for device in devices]


def _replica(network: _M, device: Any, detach: bool) -> _M:
    target = f"cuda:{device}" if isinstance(device, int) else device
    twins: dict[int, Any] = {
        id(module): module._replicate_for_data_parallel() for module in network.modules()
    }
    for module in network.modules():
        twin = twins[id(module)]
        for name, child in module._modules.items():
            twin._modules[name] = None if child is None else twins[id(child)]
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is None:
                copied = None
            else:
                copied = (value.detach() if detach else value).to(target)
                copied = copied.view_as(copied) if copied is value else copied
            if name in module._buffers:
                twin._buffers[name] = copied
            else:
                object.__setattr__(twin, name, copied)  # not a parameter: it is the result of a copy
    result: _M = twins[id(network)]
    return result

"""A module on several devices, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    r"""Runs replicas of a module on several devices, each with a part of the batch.

    Without an accelerator, the module is called directly.

    Args:
        module (Module): The module.
        device_ids (sequence of devices, optional): The devices of the replicas. None selects all accelerators.
        output_device (optional): The device of the joined results. None selects the first device.
        dim (int): The dimension of the batch. The default is 0.

    Attributes:
        module (Module): The module.

    Notes:
        - Each call splits the arguments along `dim`, copies the module, runs the copies in threads and joins the
          results. Gradients of the copies are added in the module.
        - Parameters are those of `module`, and the keys of `state_dict` begin with "module.".
        - `distributed.DistributedDataParallel` runs one process for each device, copies the model once and is
          faster.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.DataParallel(tl_nn.Linear(2, 1))(tl_core.zeros(4, 2)).shape
        torch.Size([4, 1])
    """

    device_ids: list[Any]

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = [] if device_ids is None else list(device_ids)
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The results of the module, joined along the batch."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        return data_parallel(
            self.module, inputs, self.device_ids, self.output_device, self.dim, kwargs or None
        )

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Module]:
        """The module's replicas."""
        return replicate(module, device_ids)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[Any]) -> Any:
        """The arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Module], inputs: Any, kwargs: Any) -> list[Any]:
        """The results of the replicas."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results, joined."""
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Run a module on several devices, each with a part of the batch. See `DataParallel`.

    Args:
        module (Module): The module.
        inputs (tuple or Tensor): Its arguments.
        device_ids, output_device, dim: See `DataParallel`.
        module_kwargs (dict, optional): Its keyword arguments.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(2, 1)
        >>> tl_nn.parallel.data_parallel(layer, tl_core.zeros(4, 2), device_ids=["cpu", "cpu"]).shape
        torch.Size([4, 1])
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    if not device_ids:
        return module(*arguments, **(module_kwargs or {}))
    inputs_by_device, kwargs_by_device = scatter_kwargs(arguments, module_kwargs, device_ids, dim)
    if not inputs_by_device:
        inputs_by_device, kwargs_by_device = ((),), ({},)
    devices = list(device_ids)[: len(inputs_by_device)]
    if len(devices) == 1:
        return module(*inputs_by_device[0], **kwargs_by_device[0])
    outputs = parallel_apply(replicate(module, devices), inputs_by_device, kwargs_by_device, devices)
    return gather(outputs, device_ids[0] if output_device is None else output_device, dim)

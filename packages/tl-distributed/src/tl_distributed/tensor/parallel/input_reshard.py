"""The inputs that a module saves for its backward pass, cut among the ranks of a mesh."""

from __future__ import annotations

from functools import partial
from typing import Any

from tl_autograd import graph
from tl_core import Tensor
from tl_nn import Module

from ...groups.device_mesh import DeviceMesh
from ..dtensor import DTensor
from ..placement_types import Replicate, Shard

__all__ = ["input_reshard"]


def input_reshard(module: Module, tp_device_mesh: DeviceMesh, input_reshard_dim: int | None = None) -> Module:
    """Has each rank save a piece of what a module saves as replicas; the backward pass gathers it.

    Args:
        module: the module.
        tp_device_mesh: the mesh, of one dimension.
        input_reshard_dim: the dimension that is cut; with None, nothing changes.

    Returns:
        The module.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> input_reshard(tl_nn.Linear(2, 2), mesh, 0)(tl_core.ones(4, 2)).shape
        torch.Size([4, 2])
        >>> dist.destroy_process_group()
    """
    if input_reshard_dim is None:
        return module
    blocks: list[Any] = []

    def enter(_: Module, inputs: Any) -> None:
        block = graph.saved_tensors_hooks(partial(_cut, tp_device_mesh, input_reshard_dim), _gather)
        block.__enter__()
        blocks.append(block)

    def leave(_: Module, inputs: Any, output: Any) -> None:
        blocks.pop().__exit__(None, None, None)

    module.register_forward_pre_hook(enter)
    module.register_forward_hook(leave, always_call=True)
    return module


def _cut(mesh: DeviceMesh, dim: int, saved: Tensor) -> Any:
    """A saved tensor of the forward pass as pieces, unless it is a parameter or too small."""
    is_replica = isinstance(saved, DTensor) and all(isinstance(p, Replicate) for p in saved.placements)
    is_plain = not isinstance(saved, DTensor) and saved.dim() > dim
    if saved.is_leaf or not (is_replica or is_plain) or saved.shape[dim] < mesh.size():
        return saved
    value = saved.detach()
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, [Replicate()], run_check=False)
    return value.redistribute(placements=[Shard(dim)]), isinstance(saved, DTensor)


def _gather(saved: Any) -> Tensor:
    if isinstance(saved, Tensor):
        return saved
    value, is_distributed = saved
    result: Any = value.redistribute(placements=[Replicate()])
    gathered: Tensor = result if is_distributed else result.to_local()
    return gathered

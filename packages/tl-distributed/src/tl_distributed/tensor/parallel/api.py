"""Applies styles to the modules of a model."""

from __future__ import annotations

import fnmatch
import warnings
from typing import Any

from tl_nn import Module

from ...groups.device_mesh import DeviceMesh, _mesh_resources
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Cuts the parameters of a module, and sets the layouts of its inputs and outputs.

    Args:
        module: the module.
        device_mesh: a mesh of one dimension; that of the innermost `with` block by default.
        parallelize_plan: a style for the module, or styles by the names of modules in it. A name may have `*` and `?`.
        src_data_rank: the rank whose numbers count; with None, each process takes its own.

    Returns:
        The module.

    Raises:
        ValueError: the mesh has several dimensions.
        TypeError: the plan is neither a style nor a dictionary.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> from tl_distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> mlp = tl_nn.Sequential(tl_nn.Linear(4, 8), tl_nn.ReLU(), tl_nn.Linear(8, 2))
        >>> mlp = parallelize_module(mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        >>> mlp(tl_core.ones(3, 4)).shape, mlp[0].weight.placements
        (torch.Size([3, 2]), (Shard(dim=0),))
        >>> dist.destroy_process_group()
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if mesh.ndim > 1:
        raise ValueError(
            f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! If you have a 2-D or N-D "
            'device_mesh, consider passing in device_mesh["tp"]'
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        parts = _modules_named(module, path.split(".") if path else [])
        if not parts:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no module has this name", stacklevel=2
            )
        for part in parts:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _modules_named(module: Any, names: list[str]) -> list[Module]:
    """The modules below a module by the names on the way; a name may be a pattern."""
    if not names:
        return [module]
    children = [child for name, child in module.named_children() if fnmatch.fnmatchcase(name, names[0])]
    return [part for child in children for part in _modules_named(child, names[1:])]

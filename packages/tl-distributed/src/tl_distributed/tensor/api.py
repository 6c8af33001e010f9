"""Distributed tensors and modules from those that every process has, and factories."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh, _mesh_resources
from .dtensor import DTensor
from .dtensor_spec import DTensorSpec, TensorMeta, meta_of, normalize_placements
from .layout import compute_local_shape, cut_order, own_cut, whole_stride
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A distributed tensor from one that every process has.

    Args:
        tensor: the whole, a leaf of the graph.
        device_mesh: the mesh; that of the innermost `with` block by default.
        placements: one for each dimension of the mesh; replicas by default.
        src_data_rank: the rank along each mesh dimension whose numbers count; with None, each process takes its own.

    Raises:
        RuntimeError: the tensor is not a leaf, or a placement is a `Partial`.
        ValueError: the tensor is distributed already in another way.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> distribute_tensor(tl_core.ones(4), mesh, [Shard(0)]).to_local()
        tensor([1., 1., 1., 1.])
        >>> dist.destroy_process_group()
    """
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!"
        )
    device_mesh = device_mesh or _mesh_resources.get_current_mesh()
    targets = [Replicate()] * device_mesh.ndim if placements is None else placements
    placed = normalize_placements(targets, device_mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        _check_layout(tensor, device_mesh, placed)
        return tensor
    for placement in placed:
        if isinstance(placement, Partial):
            raise RuntimeError(f"distribute_tensor: expected Shard or Replicate, got {placement!r}")
    local = tensor.detach()
    if device_mesh.get_coordinate() is None:  # this rank holds no part
        local = local.new_empty(0)
    else:
        copies = [mesh_dim for mesh_dim, placement in enumerate(placed) if not isinstance(placement, Shard)]
        for mesh_dim in (*copies, *cut_order(device_mesh, placed)):
            local = _distribute(local, device_mesh, mesh_dim, placed, src_data_rank)
    return DTensor(
        local, DTensorSpec(device_mesh, placed, meta_of(tensor)), requires_grad=tensor.requires_grad
    )


def _check_layout(tensor: DTensor, mesh: DeviceMesh, placements: tuple[Placement, ...]) -> None:
    """Raises ValueError unless a distributed tensor has this mesh and these placements."""
    if tensor.device_mesh != mesh:
        raise ValueError(
            f"distribute_tensor can't move a tensor on {tensor.device_mesh} to a different device mesh, {mesh}"
        )
    if tensor.placements != placements:
        raise ValueError(
            f"distribute_tensor can't move a tensor with the placements {tensor.placements} to a different placements "
            f"tuple, {placements}; use redistribute"
        )


def _distribute(
    local: Tensor,
    mesh: DeviceMesh,
    mesh_dim: int,
    placements: tuple[Placement, ...],
    src_data_rank: int | None,
) -> Tensor:
    if src_data_rank is not None and mesh.size(mesh_dim) > 1 and not local.is_meta:
        local = local.contiguous().clone()
        collectives.broadcast(local, group=mesh.get_group(mesh_dim), group_src=src_data_rank)
    if not isinstance(placements[mesh_dim], Shard):
        return local
    cut = own_cut(mesh, placements, mesh_dim)
    return cut.piece(local, mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)).contiguous()


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
) -> Any:
    """A module whose parameters and buffers are distributed.

    Args:
        module: the module, which is changed.
        device_mesh: the mesh; that of the innermost `with` block by default.
        partition_fn: takes a name, a submodule and the mesh, and distributes parameters; what it leaves is replicated.
        input_fn: takes the module, its inputs and the mesh, and returns the inputs to use.
        output_fn: takes the module, its outputs and the mesh, and returns the outputs to use.

    Returns:
        The module.

    Raises:
        RuntimeError: the module has been distributed already.
        ValueError: `input_fn` or `output_fn` takes another number of arguments.
    """
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been called!"
        )
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, value in part._parameters.items():
            if value is not None and not isinstance(value, DTensor):
                tensor = distribute_tensor(value.detach(), mesh)
                part._parameters[key] = type(value)(tensor, requires_grad=value.requires_grad)
        for key, value in part._buffers.items():
            if value is not None and not isinstance(value, DTensor):
                part._buffers[key] = distribute_tensor(value, mesh)
    if input_fn is not None:
        prepare = _with_module(input_fn, "input_fn", "inputs")
        module.register_forward_pre_hook(lambda m, inputs: prepare(m, inputs, mesh))
    if output_fn is not None:
        finish = _with_module(output_fn, "output_fn", "outputs")
        module.register_forward_hook(lambda m, inputs, outputs: finish(m, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _with_module(function: Callable[..., Any], name: str, data: str) -> Callable[[Any, Any, DeviceMesh], Any]:
    """A function of a module, its data and a mesh. An older program's function has no module."""
    count = len(inspect.signature(function).parameters)
    if count == 3:
        return function
    if count != 2:
        raise ValueError(
            f"distribute_module: {name} takes {count} arguments, expected module, {data}, device_mesh"
        )
    warnings.warn(
        f"Deprecating {name} of two arguments ({data}, device_mesh); use three: module, {data}, device_mesh",
        FutureWarning,
        stacklevel=3,
    )
    return lambda module, values, mesh: function(values, mesh)


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)


def _make(
    make: Callable[..., Tensor],
    size: tuple[int, ...],
    device_mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    requires_grad: bool,
    **options: Any,
) -> DTensor:
    device_mesh = device_mesh or _mesh_resources.get_current_mesh()
    targets = [Replicate()] * device_mesh.ndim if placements is None else placements
    placed = normalize_placements(targets, device_mesh, len(size))
    is_member = device_mesh.get_coordinate() is not None
    local = make(compute_local_shape(size, device_mesh, placed) if is_member else (0,), **options)
    meta = TensorMeta(tl_core.Size(size), whole_stride(size), local.dtype)
    return DTensor(local, DTensorSpec(device_mesh, placed, meta), requires_grad=requires_grad)


def _draw(
    make: Callable[..., Tensor],
    size: tuple[int, ...],
    device_mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    requires_grad: bool,
    **options: Any,
) -> DTensor:
    """The numbers that one process would draw for the whole, those of the mesh's first process."""
    return distribute_tensor(
        make(size, **options).requires_grad_(requires_grad), device_mesh, placements, src_data_rank=0
    )


def _factory(
    name: str, what: str, make: Callable[..., Tensor], build: Callable[..., DTensor]
) -> Callable[..., DTensor]:
    def factory(
        *size: Any,
        dtype: tl_core.dtype | None = None,
        layout: tl_core.layout = tl_core.strided,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        options = {"dtype": dtype, "layout": layout}
        return build(make, _sizes(size), device_mesh, placements, requires_grad, **options)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"""A distributed tensor {what}.

    Args:
        size: the size of the whole, as integers or one sequence.
        dtype: its type; the default type by default.
        layout: `strided`.
        requires_grad: whether operations on it are recorded.
        device_mesh: the mesh; that of the innermost `with` block by default.
        placements: one for each dimension of the mesh; replicas by default.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> {name}(2, 3, device_mesh=mesh).shape
        torch.Size([2, 3])
        >>> dist.destroy_process_group()
    """
    return factory


zeros = _factory("zeros", "of zeros", tl_core.zeros, _make)
ones = _factory("ones", "of ones", tl_core.ones, _make)
empty = _factory("empty", "that nobody has written to", tl_core.empty, _make)
rand = _factory("rand", "of numbers drawn evenly from [0, 1)", tl_core.rand, _draw)
randn = _factory("randn", "of normal numbers", tl_core.randn, _draw)


def full(
    size: Sequence[int],
    fill_value: float,
    *,
    dtype: tl_core.dtype | None = None,
    layout: tl_core.layout = tl_core.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of one number.

    Args:
        size: the size of the whole.
        fill_value: the number.
        dtype: its type; that of the number by default.
        layout: `strided`.
        requires_grad: whether operations on it are recorded.
        device_mesh: the mesh; that of the innermost `with` block by default.
        placements: one for each dimension of the mesh; replicas by default.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> full([2], 3.0, device_mesh=mesh).to_local()
        tensor([3., 3.])
        >>> dist.destroy_process_group()
    """
    options = {"dtype": dtype, "layout": layout, "fill_value": fill_value}
    return _make(tl_core.full, tuple(size), device_mesh, placements, requires_grad, **options)


def _shard_tensor(
    full_tensor: Tensor, placements: Sequence[Placement], device_mesh: DeviceMesh | None = None
) -> DTensor:
    """A distributed tensor of which each process takes its part of its own tensor, without communication."""
    return distribute_tensor(full_tensor, device_mesh, placements, src_data_rank=None)

"""The ranks that share the parameters of a sharded module, and those that hold copies of its pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..groups.device_mesh import DeviceMesh
from ..tensor.dtensor_spec import DTensorSpec, TensorMeta
from ..tensor.layout import whole_stride
from ..tensor.placement_types import Placement, Replicate, Shard, _StridedShard

__all__ = ["MeshLayout"]


@dataclass(frozen=True)
class MeshLayout:
    """A mesh of one dimension, along which parameters are cut, or of two, of which the first has copies.

    Args:
        mesh: the mesh.
        is_user_mesh: whether it is the mesh of a program, in place of process groups.

    Raises:
        ValueError: the mesh has more than two dimensions.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> MeshLayout(dist.init_device_mesh("cpu", (1,))).shard_size
        1
        >>> dist.destroy_process_group()
    """

    mesh: DeviceMesh
    is_user_mesh: bool = False

    def __post_init__(self) -> None:
        if self.mesh.ndim not in (1, 2):
            raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {self.mesh}")

    @property
    def shard_dim(self) -> int:
        """The dimension of the mesh along which parameters are cut."""
        return self.mesh.ndim - 1

    @property
    def shard_size(self) -> int:
        """The number of pieces."""
        return self.mesh.size(self.shard_dim)

    @property
    def shard_rank(self) -> int:
        """The piece of this process."""
        return self.mesh.get_local_rank(self.shard_dim)

    @property
    def shard_group(self) -> Any:
        """The processes with the other pieces."""
        return self.mesh.get_group(self.shard_dim)

    @property
    def replicate_size(self) -> int:
        """The number of copies of each piece."""
        return self.mesh.size(0) if self.mesh.ndim == 2 else 1

    @property
    def replicate_group(self) -> Any:
        """The processes with the same piece."""
        return self.mesh.get_group(0) if self.mesh.ndim == 2 else None

    def spec_of_piece(self, meta: TensorMeta, cut: Placement, tensor_spec: DTensorSpec | None) -> DTensorSpec:
        """The layout of a tensor of which this rank has a piece, or a piece of its part of a distributed tensor.

        Args:
            meta: size, strides and type of the whole.
            cut: the dimension that is cut; `Replicate` for a tensor without dimensions.
            tensor_spec: the layout of the distributed tensor; None for a plain tensor.

        Raises:
            ValueError: the two meshes aren't slices of one mesh.
        """
        copies: list[Placement] = [Replicate()] * self.shard_dim
        if tensor_spec is None:
            return DTensorSpec(self.mesh, (*copies, cut), meta)
        if isinstance(cut, Shard):
            cuts = 1
            for mesh_dim, placement in enumerate(tensor_spec.placements):
                if placement.is_shard(cut.dim):
                    cuts *= tensor_spec.mesh.size(mesh_dim)
            cut = cut if cuts == 1 else _StridedShard(cut.dim, split_factor=cuts)
        mesh = _joint_mesh(self.mesh, tensor_spec.mesh)
        return DTensorSpec(mesh, (*copies, cut, *tensor_spec.placements), meta)


def contiguous_meta(shape: Any, dtype: Any) -> TensorMeta:
    """Size, strides and type of a contiguous tensor.

    Args:
        shape: its size.
        dtype: its type.
    """
    return TensorMeta(shape, whole_stride(shape), dtype)


def _joint_mesh(data: DeviceMesh, tensor: DeviceMesh) -> DeviceMesh:
    """The mesh with the dimensions of data and of tensor parallelism."""
    root = data._get_root_mesh()
    if root != tensor._get_root_mesh() or data.mesh_dim_names is None or tensor.mesh_dim_names is None:
        raise ValueError(
            "FSDP requires the DP and TP mesh to have the same parent mesh but got: \n"
            f"DP's global mesh: {root}\nTP's global mesh: {tensor._get_root_mesh()}"
        )
    return root[(*data.mesh_dim_names, *tensor.mesh_dim_names)]

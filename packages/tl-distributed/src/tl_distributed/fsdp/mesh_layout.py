"""The ranks that share the parameters of a sharded module, and those that hold copies of its pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..groups.device_mesh import DeviceMesh

__all__ = ["MeshLayout"]


@dataclass(frozen=True)
class MeshLayout:
    """A mesh of one dimension, along which parameters are cut, or of two, of which the first has copies.

    Args:
        mesh: the mesh.

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

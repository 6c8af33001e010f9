"""The layout of a distributed tensor: its mesh, its placements, and the size and type of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import tl_core
from tl_core import Tensor
from tl_core.subclasses.wrapper_plans import WrapperLayout, enroll_layout

from ..groups.device_mesh import DeviceMesh
from .placement_types import Placement, Shard

__all__ = ["DTensorSpec", "TensorMeta"]

_MOST_LAYOUTS = 8192


class TensorMeta(NamedTuple):
    """Size, strides and type of the whole tensor.

    Args:
        shape: the size of each dimension.
        stride: the distance between neighbouring elements of each dimension, in elements.
        dtype: the type of the elements.
    """

    shape: tl_core.Size
    stride: tuple[int, ...]
    dtype: tl_core.dtype


class DTensorSpec(WrapperLayout):
    """The layout of a distributed tensor. Nothing of it changes; its hash is computed once.

    Args:
        mesh: the mesh.
        placements: one for each dimension of the mesh.
        tensor_meta: size, strides and type of the whole.
    """

    _hash: int | None = None

    def __init__(self, mesh: DeviceMesh, placements: tuple[Placement, ...], tensor_meta: TensorMeta):
        self.mesh = mesh
        self.placements = placements
        self.tensor_meta = tensor_meta

    def enroll(self) -> None:
        """Gives the layout the number of its equals on the mesh, by which calls find their plans."""
        mesh = self.mesh
        if len(mesh._layouts) > _MOST_LAYOUTS:
            mesh._layouts.clear()
            mesh._call_plans.clear()
        enroll_layout(self, mesh._call_plans, mesh._layouts.setdefault(self, self))

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.mesh, self.placements, self.tensor_meta))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, DTensorSpec)
            and hash(self) == hash(other)
            and self.placements == other.placements
            and self.tensor_meta == other.tensor_meta
            and self.mesh == other.mesh
        )

    def __getstate__(self) -> dict[str, object]:
        return {"mesh": self.mesh, "placements": self.placements, "tensor_meta": self.tensor_meta}

    def __repr__(self) -> str:
        return (
            f"DTensorSpec(mesh={self.mesh!r}, placements={self.placements}, tensor_meta={self.tensor_meta})"
        )

    @property
    def shape(self) -> tl_core.Size:
        """The size of the whole."""
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the tensor."""
        return len(self.tensor_meta.shape)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    def with_placements(self, placements: tuple[Placement, ...]) -> DTensorSpec:
        """The layout with other placements.

        Args:
            placements: one for each dimension of the mesh.
        """
        return DTensorSpec(self.mesh, placements, self.tensor_meta)


def meta_of(tensor: Tensor) -> TensorMeta:
    """Size, strides and type of a tensor.

    Args:
        tensor: the whole.
    """
    return TensorMeta(tensor.shape, tuple(tensor.stride()), tensor.dtype)


def normalize_placements(placements: Iterable[object], mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Placements with dimensions that count from the front.

    Args:
        placements: a sequence of them.
        mesh: the mesh that they are for.
        ndim: how many dimensions the tensor has.

    Raises:
        ValueError: there is not one for each dimension of the mesh.
        RuntimeError: one of them is no placement.
        IndexError: one of them cuts a dimension that the tensor doesn't have.
    """
    several = tuple(placements)
    if len(several) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(several)}, "
            f"and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(_normalize_placement(placement, ndim) for placement in several)


def _normalize_placement(placement: object, ndim: int) -> Placement:
    if not isinstance(placement, Placement):
        raise RuntimeError(f"placements: expected a Shard, Replicate or Partial, got {placement!r}")
    if not isinstance(placement, Shard):
        return placement
    if not -ndim <= placement.dim < max(ndim, 1):
        raise IndexError(
            f"placements: {placement!r} cuts a dimension that a tensor of {ndim} dimensions doesn't have"
        )
    return replace(placement, dim=placement.dim % max(ndim, 1))

"""Distributed tensors: pieces, replicas and terms on the processes of a mesh, computed with as one tensor."""

from ..groups.device_mesh import DeviceMesh, init_device_mesh
from . import dtensor_spec as _dtensor_spec
from . import layout as _utils
from .api import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .dtensor import DTensor
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]
